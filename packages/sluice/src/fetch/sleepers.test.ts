import { getEventListeners } from "node:events"
import { expect, test } from "vitest"
import { watchedClock } from "../../test/support/watched-clock.js"
import { timersOf } from "../clock.js"
import { Sleepers } from "./sleepers.js"

const rigged = (most = 10) => {
  const clock = watchedClock()
  return { clock, sleepers: new Sleepers(timersOf(clock), most, "partner") }
}

const listeners = (signal: AbortSignal) => getEventListeners(signal, "abort").length

test("a call that wakes frees its place and removes its listener", async () => {
  const { clock, sleepers } = rigged(4)
  const { signal } = new AbortController()
  const sleeps = [sleepers.sleep("host", 10, signal), sleepers.sleep("host", 20, signal)]
  expect([sleepers.hasRoom("host"), listeners(signal)]).toEqual([false, 1])
  clock.advance(10)
  await sleeps[0]
  expect([sleepers.hasRoom("host"), listeners(signal)]).toEqual([true, 1])
  clock.advance(10)
  await sleeps[1]
  expect([sleepers.hasRoom("host"), listeners(signal)]).toEqual([true, 0])
})

test("an abort rejects the sleeps with that signal and clears their timers", async () => {
  const { clock, sleepers } = rigged(5)
  const [one, other] = [new AbortController(), new AbortController()]
  const gone = Promise.allSettled([
    sleepers.sleep("host", 10, one.signal),
    sleepers.sleep("host", 20, one.signal),
  ])
  const stays = sleepers.sleep("host", 10, other.signal)
  one.abort("no more")
  const ended = { status: "rejected", reason: "no more" }
  expect(await gone).toEqual([ended, ended])
  expect([clock.waiting, sleepers.hasRoom("host"), listeners(one.signal)]).toEqual([1, true, 0])
  await expect(sleepers.sleep("host", 10, one.signal)).rejects.toBe("no more")
  clock.advance(10)
  await stays
})

test("rejectAll rejects every sleep, and a call over the limit never sleeps", async () => {
  const { clock, sleepers } = rigged(1)
  const { signal } = new AbortController()
  const sleep = sleepers.sleep("host", 10, signal)
  await expect(sleepers.sleep("host", 10, signal)).rejects.toMatchObject({ code: "QUEUE_FULL" })
  sleepers.rejectAll("over")
  await expect(sleep).rejects.toBe("over")
  expect([clock.waiting, sleepers.hasRoom("host"), listeners(signal)]).toEqual([0, true, 0])
})
