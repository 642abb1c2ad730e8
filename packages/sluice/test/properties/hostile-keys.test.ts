import { createLimiter, fixedWindow, memoryStore } from "sluice"
import { policyRef, stateKey } from "sluice/store"
import { describe, expect, test } from "vitest"
import { sequence } from "../../src/testing/conformance/rig.js"
import { bytesHeld } from "../support/memory.js"
import { varied } from "../support/seed.js"

/** Pieces of keys that an attacker would use to make two keys collide. */
const pieces = [
  "a",
  "b",
  ":",
  "%",
  "%3a",
  "%25",
  "{",
  "}",
  "\0",
  "\n",
  "\u{7f}",
  "é",
  "😀",
  "\ud83d",
  "\ude00",
  "#",
  "__proto__",
]

describe("keys made up to collide", () => {
  test("a quarter of a million of them do not collide, whatever names and keys contain", {
    timeout: 120_000,
  }, () => {
    const random = sequence(varied(8))
    const piece = () => pieces[Math.floor(random() * pieces.length)] as string
    const text = () => Array.from({ length: 1 + Math.floor(random() * 4) }, piece).join("")
    for (let batch = 0; batch < 1; batch += 1) {
      const inputs = new Set<string>()
      const outputs = new Set<string>()
      for (let i = 0; i < 250_000; i += 1) {
        const [limiter, key, policy] = [text(), text(), text()]
        inputs.add([limiter, key, policy].map((policy) => `${policy.length} ${policy}`).join())
        outputs.add(stateKey({ ref: policyRef(limiter, policy), key }))
      }
      expect(inputs.size).toBeGreaterThan(200_000)
      expect(outputs.size).toBe(inputs.size)
    }
  })

  test("are counted apart even if they are names of object members", async () => {
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"]
    const policies = JSON.parse(
      `{${names.map((name) => `"${name}":{"algorithm":"fixedWindow","limit":2,"window":1000,"align":"first"}`).join()}}`,
    )
    const limiter = createLimiter({ name: "__proto__", policy: policies })
    for (const key of names) {
      const cost = JSON.parse(`{"__proto__":2}`)
      expect(await limiter.tryAcquire(key, { cost })).toMatchObject({ allowed: true, policy: "__proto__" })
      expect((await limiter.tryAcquire(key)).allowed).toBe(false)
      expect((await limiter.peek(key)).policies?.map(({ remaining }) => remaining)).toEqual([0, 1, 1, 1, 1])
    }
  })
})

test("a million keys of an attacker take no more memory than maxKeys allows", {
  timeout: 300_000,
}, async () => {
  const store = memoryStore({ maxKeys: 10_000 })
  const limiter = createLimiter({ policy: fixedWindow({ limit: 5, window: "1h" }), store })
  const long = "x".repeat(10_000)
  const flood = async (from: number, to: number) => {
    for (let i = from; i < to; i += 1) await limiter.tryAcquire(`attacker ${i}${i % 100 === 0 ? long : ""}`)
  }
  await flood(0, 100_000)
  const before = bytesHeld()
  await flood(100_000, 1_000_000)
  expect(store.size).toBe(10_000)
  // 10,000 such keys take about 2 MB.
  expect(bytesHeld() - before).toBeLessThan(5_000_000)
})
