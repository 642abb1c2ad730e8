import type { EventEmitter } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"

/** Timers that the library has set and that have neither fired nor been cleared, also those that hold nothing open. */
const ours = new Map<unknown, string>()

/**
 * Watches the timers of this process. `process.getActiveResourcesInfo` leaves out those that are unref'd, and a hook of
 * `async_hooks` sees every promise too, which would slow down what is timed here.
 */
function watchTimers(): void {
  const { setTimeout: set, clearTimeout: clear, setInterval: setEach, clearInterval: clearEach } = globalThis
  const note = (timer: unknown) => {
    const place = caller()
    if (place !== undefined) ours.set(timer, place)
  }
  const timeout = (work: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    const timer = set(() => {
      ours.delete(timer)
      work(...args)
    }, ms)
    note(timer)
    return timer
  }
  const interval = (work: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    const timer = setEach(work, ms, ...args)
    note(timer)
    return timer
  }
  const forget = (end: (timer?: NodeJS.Timeout) => void) => (timer?: NodeJS.Timeout) => {
    ours.delete(timer)
    end(timer)
  }
  Object.assign(globalThis, {
    setTimeout: Object.assign(timeout, set),
    setInterval: Object.assign(interval, setEach),
    clearTimeout: forget(clear),
    clearInterval: forget(clearEach),
  })
}
watchTimers()

/** Where in the library a timer is being set; undefined if it is somebody else's. */
function caller(): string | undefined {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 4
  const { stack = "" } = new Error()
  Error.stackTraceLimit = stackTraceLimit
  // the frames of this function, of `note` and of what stands for the global one come first
  return /packages\/sluice\/src\/(\S+?\.ts)/.exec(stack.split("\n")[4] ?? "")?.[1]
}

/** What could be left behind: by kind what holds this process open, timers of ours by file, listeners by event. */
export type Census = Record<string, number>

/** Counts all of it, of this process and of clients that tell events. */
export function census(emitters: Record<string, EventEmitter | undefined> = {}): Census {
  const count: Census = {}
  const add = (kind: string, more = 1) => {
    count[kind] = (count[kind] ?? 0) + more
  }
  for (const kind of process.getActiveResourcesInfo()) {
    if (/Timeout|TCP|Pipe|Process|Immediate/.test(kind)) add(kind)
  }
  for (const file of ours.values()) add(`timer of ${file}`)
  for (const [name, emitter] of Object.entries({ process, ...emitters })) {
    for (const event of emitter?.eventNames() ?? []) {
      add(`listener of ${name} for ${String(event)}`, emitter?.listenerCount(event))
    }
  }
  return count
}

/** The part of it that a limiter could leave behind while its client is open. */
export function timersAndListeners(all: Census): Census {
  return Object.fromEntries(Object.entries(all).filter(([kind]) => /^(timer|listener) of/.test(kind)))
}

/** Waits until nothing is there that was not before; what still is after five seconds, or as many twentieths as told. */
export async function leftOver(
  before: Census,
  now: () => Census = census,
  twentieths = 100,
): Promise<Census> {
  for (let patience = twentieths; ; patience -= 1) {
    const more = Object.entries(now())
      .map(([kind, count]) => [kind, count - (before[kind] ?? 0)] as const)
      .filter(([, count]) => count > 0)
    if (more.length === 0 || patience === 0) return Object.fromEntries(more)
    await sleep(50)
  }
}
