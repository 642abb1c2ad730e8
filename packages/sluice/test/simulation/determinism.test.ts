import { expect, test } from "vitest"
import { Random } from "./random.js"
import { replaying } from "./seeds.js"
import { simulate } from "./simulate.js"

test.skipIf(replaying)("a seed is the same world each time, whatever was run before it", async () => {
  const first = new Map<number, string>()
  for (const seed of [1, 2, 3, 4, 5, 6]) first.set(seed, (await simulate(seed)).hash)
  for (const seed of [4, 2, 6, 1, 5, 3])
    expect((await simulate(seed)).hash, `seed ${seed}`).toBe(first.get(seed))
  expect(new Set(first.values()).size).toBe(6)
})

test.skipIf(replaying)("the clock and the numbers of this process are as before after a run", async () => {
  const before = [setTimeout, clearTimeout, setImmediate, setInterval, Date.now, Math.random, performance.now]
  await simulate(1)
  expect([
    setTimeout,
    clearTimeout,
    setImmediate,
    setInterval,
    Date.now,
    Math.random,
    performance.now,
  ]).toEqual(before)
  expect(
    crypto
      .getRandomValues(new Uint8Array(16))
      .slice(4)
      .some((byte) => byte > 0),
  ).toBe(true)
})

test.skipIf(replaying)("a world lasts for hours", async () => {
  for (const seed of [1, 2, 3]) expect((await simulate(seed)).simulatedHours).toBeGreaterThan(2)
})

test.skipIf(replaying)("random numbers are even enough", () => {
  const random = new Random(7, "test")
  const drawn = Array.from({ length: 10_000 }, () => random.integer(0, 9))
  for (let digit = 0; digit < 10; digit += 1) {
    const share = drawn.filter((each) => each === digit).length
    expect(share).toBeGreaterThan(900)
    expect(share).toBeLessThan(1_100)
  }
})
