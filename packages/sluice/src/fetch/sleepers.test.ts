import { getEventListeners } from "node:events"
import { expect, test } from "vitest"
import { watchedClock } from "../../test/support/watched-clock.js"
import { timersOf } from "../clock.js"
import { Sleepers } from "./sleepers.js"

const rigged = (most = 10) => {
  const clock = watchedClock()
  return { clock, sleepers: new Sleepers(timersOf(clock), most) }
}

const listeners = (signal: AbortSignal) => getEventListeners(signal, "abort").length

test("who wakes makes room, and listens no longer", async () => {
  const { clock, sleepers } = rigged(2)
  const { signal } = new AbortController()
  const sleeps = [sleepers.sleep(10, signal), sleepers.sleep(20, signal)]
  expect([sleepers.isFull, listeners(signal)]).toEqual([true, 1])
  clock.advance(10)
  await sleeps[0]
  expect([sleepers.isFull, listeners(signal)]).toEqual([false, 1])
  clock.advance(10)
  await sleeps[1]
  expect([sleepers.isFull, listeners(signal)]).toEqual([false, 0])
})

test("an abort ends the sleeps by that signal, and their timers", async () => {
  const { clock, sleepers } = rigged(3)
  const [one, other] = [new AbortController(), new AbortController()]
  const gone = Promise.allSettled([sleepers.sleep(10, one.signal), sleepers.sleep(20, one.signal)])
  const stays = sleepers.sleep(10, other.signal)
  one.abort("no more")
  const ended = { status: "rejected", reason: "no more" }
  expect(await gone).toEqual([ended, ended])
  expect([clock.waiting, sleepers.isFull, listeners(one.signal)]).toEqual([1, false, 0])
  await expect(sleepers.sleep(10, one.signal)).rejects.toBe("no more")
  clock.advance(10)
  await stays
})

test("all can be roused, and one too many never sleeps", async () => {
  const { clock, sleepers } = rigged(1)
  const { signal } = new AbortController()
  const sleep = sleepers.sleep(10, signal)
  await expect(sleepers.sleep(10, signal)).rejects.toMatchObject({ code: "QUEUE_FULL" })
  sleepers.rouse("over")
  await expect(sleep).rejects.toBe("over")
  expect([clock.waiting, sleepers.isFull, listeners(signal)]).toEqual([0, false, 0])
})
