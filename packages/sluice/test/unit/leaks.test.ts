import { EventEmitter } from "node:events"
import { expect, test, vi } from "vitest"
import { timersOf } from "../../src/clock.js"
import { Deadlines } from "../../src/layers/deadlines.js"
import { census, leftOver } from "../support/leaks.js"

test("a timer of the library is counted until it fires, even if it is unref'd", async () => {
  const before = census()
  const fired = vi.fn()
  const due = { startedAt: 0, before: undefined, after: undefined, expire: fired }
  new Deadlines(100).add(due)
  expect(census()).toMatchObject({ "timer of layers/deadlines.ts": 1 })
  expect(fired).not.toHaveBeenCalled()
  expect(await leftOver(before)).toEqual({})
  expect(fired).toHaveBeenCalledOnce()
})

test("a cleared timer is no longer counted", () => {
  const cancel = timersOf(undefined).after(60_000, () => {})
  expect(census()).toMatchObject({ "timer of clock.ts": 1 })
  cancel()
  expect(census()).not.toHaveProperty(["timer of clock.ts"])
})

test("timers of other code are not counted, and listeners on any event source are", async () => {
  const emitter = new EventEmitter()
  const count = () => census({ client: emitter })
  const before = count()
  const timer = setTimeout(() => {}, 60_000).unref()
  expect(await leftOver(before, count)).toEqual({})
  clearTimeout(timer)
  emitter.on("close", () => {})
  const onExit = () => {}
  process.on("beforeExit", onExit)
  expect(await leftOver(before, count, 0)).toEqual({
    "listener of client for close": 1,
    "listener of process for beforeExit": 1,
  })
  process.off("beforeExit", onExit)
})
