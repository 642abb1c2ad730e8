import { readFileSync } from "node:fs"
import { createLimiter, type Duration, leakyBucket, memoryStore, tokenBucket } from "sluice"
import { manualClock } from "sluice/testing"
import { expect, test } from "vitest"
import { settled } from "../support/distant-store.js"

const page = readFileSync(new URL("../../../../docs/algorithms/leaky-bucket.md", import.meta.url), "utf8")
const row = /^\| `(\w+)` \| (\d+) \| (\w+) \| ([\d, ]+) ms \| (none|(\d) with `(\w+)`) \| (\d) \|$/gm
const rows = [...page.matchAll(row)].map(([, policy, capacity, maxWait, after, , refused, code, atOnce]) => ({
  policy: policy as string,
  capacity: Number(capacity),
  maxWait: maxWait as Duration,
  after: (after as string).split(", ").map(Number),
  refused: Number(refused ?? 0),
  code,
  atOnce: Number(atOnce),
}))

test("the table of docs/algorithms/leaky-bucket.md has six rows", () => {
  expect(rows).toHaveLength(6)
})

test.each(rows)(
  "a $policy of capacity $capacity and maxWait $maxWait behaves as its row in the docs",
  async ({ policy, capacity, maxWait, after, refused, code, atOnce }) => {
    const make = () => {
      const clock = manualClock()
      const made =
        policy === "leakyBucket"
          ? leakyBucket({ capacity, leak: 10, every: "1s" })
          : tokenBucket({ capacity, refill: 10, every: "1s" })
      return { clock, limiter: createLimiter({ policy: made, maxWait, store: memoryStore({ clock }) }) }
    }
    const waiting = make()
    const start = waiting.clock()
    const passed: number[] = []
    const codes: string[] = []
    for (let i = 0; i < 7; i += 1) {
      waiting.limiter.acquire("k").then(
        () => passed.push(waiting.clock() - start),
        (error) => codes.push(error.code),
      )
    }
    await settled()
    for (let ms = 0; ms < 1_000; ms += 10) {
      waiting.clock.advance(10)
      await settled()
    }
    expect(passed).toEqual(after)
    expect(codes).toEqual(new Array(refused).fill(code))

    const { limiter } = make()
    let allowed = 0
    for (let i = 0; i < 7; i += 1) if ((await limiter.tryAcquire("k")).allowed) allowed += 1
    expect(allowed).toBe(atOnce)
  },
)
