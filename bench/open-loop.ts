import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises"
import { noteError } from "./closed-loop.js"
import type { Subject } from "./subject.js"

export interface FixedRate {
  readonly keys: readonly string[]
  /** Decisions per second. */
  readonly rate: number
  readonly ms: number
  /**
   * Milliseconds between the moments at which requests are sent. 0 sends each when it is due, which keeps a core busy: only for a
   * process that is alone.
   */
  readonly tickMs: number
}

export interface FixedRateOutcome {
  readonly done: number
  readonly errors: number
  /** Milliseconds from the moment at which each request was due. */
  readonly latencies: Float64Array
}

/** Sends requests by the clock, whether or not replies come. So a stall shows in the latency of all requests behind it. */
export async function openLoop(subject: Subject, load: FixedRate): Promise<FixedRateOutcome> {
  const { keys, rate, ms, tickMs } = load
  const mask = keys.length - 1
  const total = Math.round((rate * ms) / 1_000)
  const latencies = new Float64Array(total)
  const pending: Promise<void>[] = []
  let errors = 0
  const startedAt = performance.now()

  const request = async (number: number) => {
    // Requests of one tick are due when the tick comes.
    const dueAt = tickMs === 0 ? startedAt + (number * 1_000) / rate : performance.now()
    try {
      subject.passed(await subject.decide(keys[number & mask] as string))
    } catch (error) {
      errors += 1
      noteError(subject, error)
    }
    latencies[number] = performance.now() - dueAt
  }

  while (pending.length < total) {
    const due = Math.min(total, Math.floor(((performance.now() - startedAt) * rate) / 1_000))
    while (pending.length < due) pending.push(request(pending.length))
    await (tickMs === 0 ? turn() : sleep(tickMs))
  }
  await Promise.all(pending)
  return { done: total, errors, latencies: latencies.sort() }
}
