// One of several processes that use one Redis at the same time.
import { setTimeout as sleep } from "node:timers/promises"
import { noteError } from "./closed-loop.js"
import { uniform } from "./keys.js"
import { openLoop } from "./open-loop.js"
import { connectTo } from "./redis.js"
import type { Subject } from "./subject.js"
import { pipelined } from "./subjects/pipelined.js"
import { serve } from "./worker.js"

export interface FleetRequest {
  readonly subject: string
  /** This process' share: how many in flight at all times, or how many a second in ticks of so many milliseconds. */
  readonly load: { readonly inFlight: number } | { readonly rate: number; readonly tickMs: number }
  readonly ms: number
  /** Epoch milliseconds. */
  readonly startsAt: number
}

export interface FleetReply {
  readonly done: number
  readonly errors: number
  readonly seconds: number
  /** Microseconds of this process' processor time. */
  readonly cpu: number
  /** Milliseconds, in ascending order. */
  readonly latencies: Float64Array
}

const on = connectTo(Number(process.argv[2]))
const keys = uniform(10_000)
const subjects = new Map<string, Subject>()
// All processes create the subjects in the same order, so their names and prefixes are the same.
const created = (async () => {
  for (const [name, make] of Object.entries(pipelined)) subjects.set(name, await make(on))
})()

serve<FleetRequest, FleetReply>(async ({ subject: name, load, ms, startsAt }) => {
  await created
  const subject = subjects.get(name)
  if (subject === undefined) throw new Error(`there is no subject ${name}`)
  await sleep(startsAt - Date.now())
  const before = process.cpuUsage()
  const startedAt = performance.now()
  const outcome =
    "rate" in load ? await openLoop(subject, { keys, ms, ...load }) : await closed(subject, load.inFlight, ms)
  const { user, system } = process.cpuUsage(before)
  return { ...outcome, cpu: user + system, seconds: (performance.now() - startedAt) / 1_000 }
})

async function closed(subject: Subject, inFlight: number, ms: number) {
  const endsAt = performance.now() + ms
  const latencies: number[] = []
  let [next, errors] = [Math.floor(Math.random() * keys.length), 0]
  const work = async () => {
    for (let now = performance.now(); now < endsAt; ) {
      next = (next + 1) & (keys.length - 1)
      try {
        subject.passed(await subject.decide(keys[next] as string))
      } catch (error) {
        errors += 1
        noteError(subject, error)
      }
      const answeredAt = performance.now()
      latencies.push(answeredAt - now)
      now = answeredAt
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work))
  return { done: latencies.length, errors, latencies: Float64Array.from(latencies).sort() }
}
