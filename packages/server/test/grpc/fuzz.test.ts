import { randomBytes } from "node:crypto"
import { expect, test } from "vitest"
import { on, requestBytes } from "./support/rls-client.js"
import { startRls } from "./support/rls-server.js"

const SECONDS = Number(process.env["FUZZ_SECONDS"] ?? 3)

const config = `
domain: d
descriptors:
  - { key: k, rate_limit: { unit: year, requests_per_unit: 1000000 } }
  - { key: w, value: "a*b*c*", rate_limit: { unit: year, requests_per_unit: 1000000 } }
  - { key: q, quota_mode: true, count_denied: true, rate_limit: { unit: year, requests_per_unit: 1000000 } }
`

const dice = (sides: number) => randomBytes(4).readUInt32BE() % sides

/** Random bytes, or a valid message with some bytes changed, cut off or repeated. */
function mutated(): Buffer {
  if (dice(3) === 0) return randomBytes(dice(200))
  const value = randomBytes(dice(20)).toString("latin1")
  const key = ["k", "w", "q", "\0"][dice(4)] as string
  const descriptor = { ...on(key, value), hits: BigInt(dice(2 ** 31)) ** 2n, isNegative: dice(2) === 0 }
  const limit = { requestsPerUnit: dice(9), unit: dice(9) }
  const bytes = requestBytes(
    "d",
    [descriptor, { ...on(key, value), ...(dice(2) === 0 && { limit }) }],
    dice(2 ** 31),
  )
  for (let i = dice(4); i > 0; i -= 1) bytes[dice(bytes.length)] = dice(256)
  return dice(4) === 0 ? bytes.subarray(0, dice(bytes.length)) : bytes
}

test(`random messages for ${SECONDS} s crash nothing, and get an answer or a status each`, {
  timeout: (SECONDS + 30) * 1_000,
}, async () => {
  const server = await startRls(config)
  const codes = new Map<number, number>()
  const note = (code: number) => codes.set(code, (codes.get(code) ?? 0) + 1)
  const end = Date.now() + SECONDS * 1_000
  while (Date.now() < end) {
    const sent = Array.from({ length: 50 }, () =>
      server.send(mutated()).then(
        () => note(0),
        ({ code }: { code: number }) => note(code),
      ),
    )
    await Promise.all(sent)
  }
  // OK, invalid argument, and internal for bytes that are no message.
  expect([...codes.keys()].filter((code) => ![0, 3, 13].includes(code))).toEqual([])
  expect(codes.get(0)).toBeGreaterThan(0)
  expect((await server.ask("d", [on("k", "after")])).statuses[0]?.remaining).toBe(999_999)
  await server.stop()
})
