import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises"
import type { Server } from "./redis.js"
import type { WaitingSubject } from "./subject.js"

/** What was seen of a crowd between two moments. */
export interface Sighting {
  /** Milliseconds, as are the moments of the grants. */
  readonly from: number
  readonly to: number
  readonly grants: readonly number[]
  /** Microseconds of processor time, as is `redisCpu`. */
  readonly nodeCpu: number
  readonly redisCpu: number
  /** Scripts that clients called, and commands that ran, in scripts or not. */
  readonly scripts: number
  readonly commands: number
}

export interface Crowd {
  readonly callers: number
  readonly ms: number
  /** Whether nothing is counted until everybody is in line; else until some have been granted. */
  readonly inLineFirst: boolean
}

/** Grants from memory never leave the queue of microtasks: after so many all wait for the timers' turn. */
const breath = 2_048
const settleMs = 40

/** Callers who wait for a turn, and when they have had it for the next: as many wait at all times. */
export async function crowd(subject: WaitingSubject, on: Server, load: Crowd): Promise<Sighting> {
  const grants: number[] = []
  let [open, pause] = [true, undefined as Promise<void> | undefined]
  const granted = () => {
    grants.push(performance.now())
    if (grants.length % breath === 0) {
      pause ??= turn().then(() => {
        pause = undefined
      })
    }
  }
  const call = async () => {
    while (open) {
      await subject.wait(granted)
      if (pause !== undefined) await pause
    }
  }
  const snapshot = async () => {
    const [redisCpu, scripts, commands] = await Promise.all([on.cpu(), on.scripts(), on.commands()])
    const { user, system } = process.cpuUsage()
    return {
      at: performance.now(),
      seen: grants.length,
      nodeCpu: user + system,
      redisCpu,
      scripts: scripts.calls,
      commands,
    }
  }

  let failed: unknown
  const callers = Array.from({ length: load.callers }, () =>
    call().catch((error: unknown) => {
      // who is sent away at the end is told so by an error
      if (open) failed ??= error
    }),
  )
  if (load.inLineFirst) await subject.inLine()
  await sleep(settleMs)
  const begin = await snapshot()
  await sleep(load.ms)
  const end = await snapshot()
  open = false
  await subject.close()
  await Promise.all(callers)
  if (failed !== undefined) throw failed
  return {
    from: begin.at,
    to: end.at,
    grants: grants.slice(begin.seen, end.seen),
    nodeCpu: end.nodeCpu - begin.nodeCpu,
    redisCpu: end.redisCpu - begin.redisCpu,
    scripts: end.scripts - begin.scripts,
    commands: end.commands - begin.commands,
  }
}
