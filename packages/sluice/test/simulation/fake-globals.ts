import type { Random } from "./random.js"
import { EPOCH, type Owner, type Timeline } from "./timeline.js"

/** Microseconds by which a timer may be late on a process that is not busy. */
const JITTER = 300

/** A timer of Node. */
class Timer {
  readonly #owner: Owner | undefined
  #event: ReturnType<Timeline["at"]> | undefined
  #refed = true

  constructor(timeline: Timeline, at: number, run: () => void) {
    const owner = timeline.owner
    this.#owner = owner
    if (owner !== undefined) {
      owner.timers += 1
      owner.keptAlive += 1
    }
    this.#event = timeline.at(at, owner, () => {
      this.#over()
      run()
    })
  }

  unref(): this {
    if (this.#event !== undefined && this.#refed && this.#owner !== undefined) this.#owner.keptAlive -= 1
    this.#refed = false
    return this
  }

  clear(timeline: Timeline): void {
    if (this.#event === undefined) return
    timeline.cancel(this.#event)
    this.#over()
  }

  #over(): void {
    this.#event = undefined
    if (this.#owner === undefined) return
    this.#owner.timers -= 1
    if (this.#refed) this.#owner.keptAlive -= 1
  }
}

/**
 * Puts simulated time in the place of all that this process tells time by, and seeded numbers in that of random ones;
 * what it returns puts everything back. Like Node's, timers count whole milliseconds from the last one that was begun, so
 * that they may be early by a part of one.
 */
export function fakeGlobals(timeline: Timeline, random: Random): () => void {
  const restores: (() => void)[] = []
  const put = (target: object, name: string, value: unknown) => {
    const before = Object.getOwnPropertyDescriptor(target, name)
    Object.defineProperty(target, name, { value, configurable: true, writable: true })
    restores.push(() => {
      if (before === undefined) Reflect.deleteProperty(target, name)
      else Object.defineProperty(target, name, before)
    })
  }
  const wall = () => EPOCH + timeline.now + (timeline.owner?.skew ?? 0)
  const clear = (timer: unknown) => {
    if (timer instanceof Timer) timer.clear(timeline)
  }
  let ids = 0

  put(globalThis, "setTimeout", (run: () => void, ms = 1) => {
    const whole = Math.trunc(ms >= 1 && ms < 2 ** 31 ? ms : 1)
    const due = (Math.floor(timeline.now / 1_000) + whole) * 1_000
    return new Timer(timeline, due + random.integer(0, JITTER), run)
  })
  put(globalThis, "setImmediate", (run: () => void) => new Timer(timeline, timeline.now, run))
  put(globalThis, "clearTimeout", clear)
  put(globalThis, "clearImmediate", clear)
  put(globalThis, "setInterval", () => {
    throw new Error("no interval is simulated")
  })
  put(performance, "now", () => timeline.now / 1_000)
  put(Date, "now", () => Math.floor(wall() / 1_000))
  // nobody reads the stacks of errors that are made on purpose, and they cost more than all the rest
  put(Error, "stackTraceLimit", 0)
  put(Math, "random", () => random.next())
  put(crypto, "getRandomValues", (array: Uint8Array) => {
    ids += 1
    new DataView(array.fill(0).buffer).setUint32(0, ids)
    return array
  })
  return () => {
    for (const restore of restores.reverse()) restore()
  }
}
