import type { EventEmitter } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"

/** Pending timers of the library, including those that are unref'd. */
const ours = new Map<unknown, string>()

/**
 * Watches the timers of this process. `process.getActiveResourcesInfo` does not list unref'd timers. A hook of `async_hooks`
 * also sees every promise, which would slow down the measured code.
 */
function watchTimers(): void {
  const { setTimeout: set, clearTimeout: clear, setInterval: setEach, clearInterval: clearEach } = globalThis
  const note = (timer: unknown) => {
    const stateRef = caller()
    if (stateRef !== undefined) ours.set(timer, stateRef)
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

/** Where in the library a timer is set. Undefined for timers of other code. */
function caller(): string | undefined {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 4
  const { stack = "" } = new Error()
  Error.stackTraceLimit = stackTraceLimit
  // Skip the frames of this function, of `note` and of the replaced global function.
  return /packages\/sluice\/src\/(\S+?\.ts)/.exec(stack.split("\n")[4] ?? "")?.[1]
}

/** Possible leaks: active resources by kind, timers of the library by file, listeners by event. */
export type Census = Record<string, number>

/** Counts them, in this process and on clients that emit events. */
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

/** The leaks that a limiter could cause while its client is open. */
export function timersAndListeners(all: Census): Census {
  return Object.fromEntries(Object.entries(all).filter(([kind]) => /^(timer|listener) of/.test(kind)))
}

/** Waits until no new leaks are left. Returns those left after five seconds, or after `twentieths` × 50 ms. */
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
