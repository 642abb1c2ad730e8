import { duration } from "../cli/format.js"
import { type Asked, ask } from "./ask.js"
import { type Finding, finding } from "./finding.js"

/** Measuring one kind of call ends after this many samples, or after this many milliseconds. */
const MOST_SAMPLES = 200
const LONGEST = 2_000
const LEAST_SAMPLES = 5

export interface Latency {
  readonly samples: number
  readonly min: number
  readonly median: number
  readonly p99: number
}

/** Times a call, one after the other. */
export async function measure(call: () => Promise<unknown>, now = () => performance.now()): Promise<Latency> {
  const times: number[] = []
  const end = now() + LONGEST
  while (times.length < MOST_SAMPLES && (times.length < LEAST_SAMPLES || now() < end)) {
    const start = now()
    await call()
    times.push(now() - start)
  }
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] as number
  return { samples: times.length, min: at(0), median: at(0.5), p99: at(0.99) }
}

/** Half of the limiter's usual deadline in front of a service would be too much. */
const SLOW = 50

export function latencyFinding(what: string, latency: Latency): Finding {
  const { min, median, p99, samples } = latency
  const message = `${what}: min ${duration(min)}, median ${duration(median)}, p99 ${duration(p99)} (${samples} calls)`
  if (median <= SLOW) return finding("latency", "ok", message)
  return finding(
    "latency",
    "warning",
    `${message}: slow`,
    "Run Redis in the same region, and look at its SLOWLOG.",
  )
}

const CLOCK_SAMPLES = 9
/** Clocks that are synchronised by NTP differ by a few milliseconds. */
const FAR_APART = 500

/** Compares the server's clock with ours. The sample with the shortest round trip is the most exact one. */
export async function checkClock(client: Asked, now: () => number = Date.now): Promise<Finding> {
  let best: { difference: number; error: number } | undefined
  for (let i = 0; i < CLOCK_SAMPLES; i += 1) {
    const start = now()
    const { value, error } = await ask(client, "TIME")
    const end = now()
    if (error !== undefined) return finding("clock", "skipped", `TIME failed: ${error}`)
    const [seconds, micros] = value as [string, string]
    const server = Number(seconds) * 1_000 + Number(micros) / 1_000
    const sample = { difference: server - (start + end) / 2, error: (end - start) / 2 + 1 }
    if (best === undefined || sample.error < best.error) best = sample
  }
  const { difference, error } = best as { difference: number; error: number }
  const size = Math.abs(difference)
  if (size <= error) return finding("clock", "ok", `the clocks agree to within ${duration(Math.ceil(error))}`)
  const direction = difference > 0 ? "ahead of" : "behind"
  const message = `the server's clock is ${duration(Math.round(size))} ${direction} ours (± ${duration(Math.ceil(error))})`
  if (size - error <= FAR_APART) return finding("clock", "ok", message)
  const fix =
    "Synchronise both clocks by NTP. A failover to a server whose clock is ahead grants up to one full limit."
  return finding("clock", "warning", message, fix)
}
