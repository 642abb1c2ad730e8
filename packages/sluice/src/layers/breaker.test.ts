import { describe, expect, test } from "vitest"
import { Breaker } from "./breaker.js"

function setUp() {
  let now = 0
  const changes: string[] = []
  const breaker = new Breaker(
    () => now,
    (reachable, error) => changes.push(reachable ? "back" : `gone: ${error}`),
    () => 0,
  )
  const fail = (times: number) => {
    for (let i = 0; i < times; i += 1) breaker.failed(`failure ${i + 1}`)
  }
  return { breaker, changes, fail, pass: (ms: number) => (now += ms) }
}

describe("the circuit breaker", () => {
  test("opens when at least half of the replies, and at least five, have failed", () => {
    const { breaker, changes, fail } = setUp()
    fail(4)
    breaker.succeeded()
    expect(breaker.admits()).toBe(true)
    fail(1)
    expect(breaker.admits()).toBe(false)
    expect(changes).toEqual(["gone: failure 1"])
  })

  test("stays closed for failures among many replies, and for fewer than five in a period", () => {
    const { breaker, changes, fail, pass } = setUp()
    for (let i = 0; i < 40; i += 1) {
      for (let j = 0; j < 3; j += 1) breaker.succeeded()
      fail(1)
    }
    breaker.succeeded()
    for (let i = 0; i < 20; i += 1) {
      pass(1_001)
      fail(4)
      breaker.succeeded()
    }
    expect(breaker.isOpen).toBe(false)
    expect(changes).toEqual([])
  })

  test("opens after five failures in a row, however far apart", () => {
    const { breaker, fail, pass } = setUp()
    for (let i = 0; i < 5; i += 1) {
      pass(2_000)
      fail(1)
    }
    expect(breaker.isOpen).toBe(true)
  })

  test("when open, admits one probe at a time, with longer and longer pauses", () => {
    const { breaker, changes, fail, pass } = setUp()
    fail(5)
    for (const pause of [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]) {
      expect(breaker.untilProbe).toBe(pause)
      pass(pause - 1)
      expect(breaker.admits()).toBe(false)
      pass(1)
      expect(breaker.admits()).toBe(true)
      expect(breaker.admits()).toBe(false)
      breaker.failed("still gone")
    }
    pass(5_000)
    expect(breaker.admits()).toBe(true)
    breaker.succeeded()
    expect([breaker.admits(), breaker.admits()]).toEqual([true, true])
    expect(changes).toEqual(["gone: failure 5", "back"])
  })

  test("closes when a late reply arrives without a probe", () => {
    const { breaker, changes, fail } = setUp()
    fail(5)
    breaker.succeeded()
    expect(breaker.admits()).toBe(true)
    expect(changes.at(-1)).toBe("back")
  })

  test("counts failures from zero after it has closed", () => {
    const { breaker, fail } = setUp()
    fail(5)
    breaker.succeeded()
    fail(4)
    expect(breaker.isOpen).toBe(false)
    fail(1)
    expect(breaker.untilProbe).toBe(100)
  })
})
