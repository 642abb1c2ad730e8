import { policyRef, stateKey } from "sluice/store"
import { expect, test } from "vitest"

test("a key of one megabyte takes about as long with escaped characters as with plain ones", () => {
  const ref = policyRef("api", "default")
  const take = (character: string) => {
    const key = character.repeat(1_000_000)
    const start = performance.now()
    stateKey({ ref, key })
    return performance.now() - start
  }
  for (const character of ["x", "%", "x", "%"]) take(character)
  const least = (character: string) => Math.min(...Array.from({ length: 5 }, () => take(character)))
  expect(least("%")).toBeLessThan(3 * least("x") + 5)
})

test("long keys stay different even if their escaped texts would be equal", () => {
  const ref = policyRef("api", "default")
  const keys = [
    "%".repeat(100),
    "%25".repeat(100),
    "%2525".repeat(100),
    "\ud800".repeat(200),
    "\udbff".repeat(200),
  ]
  expect(new Set(keys.map((key) => stateKey({ ref, key }))).size).toBe(keys.length)
})
