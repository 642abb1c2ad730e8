import { createLimiter, fixedWindow, memoryStore, scopeOf, stateKey } from "sluice"
import { describe, expect, test } from "vitest"
import { sequence } from "../../src/testing/conformance/rig.js"
import { bytesHeld } from "../support/memory.js"

/** Pieces that keys are made of by somebody who wants two of them to meet. */
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

describe("keys that are made up to meet", () => {
  test("a million of them stay apart, whatever is in names and keys", { timeout: 120_000 }, () => {
    const random = sequence(8)
    const piece = () => pieces[Math.floor(random() * pieces.length)] as string
    const text = () => Array.from({ length: 1 + Math.floor(random() * 4) }, piece).join("")
    for (let batch = 0; batch < 4; batch += 1) {
      const inputs = new Set<string>()
      const outputs = new Set<string>()
      for (let i = 0; i < 250_000; i += 1) {
        const [limiter, key, policy] = [text(), text(), text()]
        inputs.add([limiter, key, policy].map((part) => `${part.length} ${part}`).join())
        outputs.add(stateKey({ scope: scopeOf(limiter, policy), key }))
      }
      expect(inputs.size).toBeGreaterThan(200_000)
      expect(outputs.size).toBe(inputs.size)
    }
  })

  test("are counted apart though they are names of what every object has", async () => {
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

test("ten million keys of an attacker take no more memory than the cap allows", {
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
  await flood(100_000, 10_000_000)
  expect(store.size).toBe(10_000)
  // ten thousand keys of this kind take about two megabytes
  expect(bytesHeld() - before).toBeLessThan(5_000_000)
})
