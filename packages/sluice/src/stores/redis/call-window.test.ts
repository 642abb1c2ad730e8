import { describe, expect, test } from "vitest"
import { CallWindow } from "./batcher.js"

/**
 * Keeps a window full for a while. Redis needs `service` ms per call and works on one at a time; the network adds `distance` ms. Returns
 * the size of the window at the end.
 */
function run(window: CallWindow, { calls = 500, service = 0.25, distance = 0.05, start = 0 } = {}) {
  const inFlight: { sentAt: number; doneAt: number }[] = []
  let now = start
  let freeAt = start
  for (let i = 0; i < calls; i += 1) {
    while (window.hasRoom(now)) {
      window.open(now)
      freeAt = Math.max(freeAt, now + distance / 2) + service
      inFlight.push({ sentAt: now, doneAt: freeAt + distance / 2 })
    }
    const next = inFlight.shift() as { sentAt: number; doneAt: number }
    now = next.doneAt
    window.close(next.sentAt, now)
  }
  const { size } = window
  for (const { sentAt, doneAt } of inFlight) window.close(sentAt, doneAt)
  return { size, now: inFlight.at(-1)?.doneAt ?? now }
}

describe("the window of calls", () => {
  test("keeps a few calls in Redis' queue on loopback", () => {
    expect(run(new CallWindow()).size).toBeLessThanOrEqual(8)
  })

  test("grows with the distance of the server: 10 ms at 0.25 ms per call are 40 calls", () => {
    const { size } = run(new CallWindow(), { distance: 10 })
    expect(size).toBeGreaterThan(20)
    expect(size).toBeLessThan(60)
  })

  test("shrinks again while Redis is slow, and grows back afterwards", () => {
    const window = new CallWindow()
    const { now } = run(window, { distance: 10 })
    const slow = run(window, { distance: 10, service: 20, start: now, calls: 200 })
    expect(slow.size).toBeLessThan(10)
    expect(run(window, { distance: 10, start: slow.now }).size).toBeGreaterThan(20)
  })

  test("does not grow while it is not full", () => {
    const window = new CallWindow()
    for (let i = 0; i < 1_000; i += 1) {
      window.open(i)
      window.close(i, i + 0.5)
    }
    expect(window.size).toBe(4)
  })

  test("frees the place of a call without a reply after one second", () => {
    const window = new CallWindow()
    for (let i = 0; i < 4; i += 1) window.open(i)
    expect(window.hasRoom(900)).toBe(false)
    expect(window.hasRoom(1_001)).toBe(true)
    window.open(1_001)
    // The overdue call still takes no place when it ends.
    window.close(0, 1_002)
    expect(window.inFlight).toBe(4)
    expect(window.hasRoom(1_000)).toBe(false)
  })
})
