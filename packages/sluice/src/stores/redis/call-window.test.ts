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

  test("frees the places of calls without a reply after one second, and shrinks", () => {
    const window = new CallWindow()
    for (let i = 0; i < 4; i += 1) window.open(i)
    expect(window.hasRoom(1_000)).toBe(false)
    expect(window.size).toBe(4)
    expect(window.hasRoom(1_002.5)).toBe(true)
    expect(window.size).toBe(2)
    window.open(1_002.5)
    // The overdue call still takes no place when it ends.
    window.close(0, 1_003)
    expect(window.inFlight).toBe(2)
    expect(window.hasRoom(1_003)).toBe(false)
  })

  test("sends a Redis that stands still two calls a second, and grows back once it answers", () => {
    const window = new CallWindow()
    const { now, size } = run(window, { distance: 10 })
    expect(size).toBeGreaterThan(20)
    let [sent, at] = [0, now]
    for (; at < now + 10_000; at += 10) {
      while (window.hasRoom(at)) {
        window.open(at)
        sent += 1
      }
    }
    expect(window.size).toBe(2)
    expect(sent).toBeLessThanOrEqual(size + 2 * 10)
    expect(run(window, { distance: 10, start: at + 1_001 }).size).toBeGreaterThan(20)
  })
})
