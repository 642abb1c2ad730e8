import type { Server } from "./redis.js"
import type { Figures } from "./rounds.js"
import { quantile } from "./statistics.js"
import type { Subject } from "./subject.js"

export interface Load {
  /** A power of two of them, asked for in turn. */
  readonly keys: readonly string[]
  readonly inFlight: number
  /** How long decisions are counted, in milliseconds. */
  readonly ms: number
}

/** Milliseconds before counting starts, so that all workers are under way. */
const settleMs = 40

/** Keeps `inFlight` workers busy: each asks for its next decision when it has the last one. Errors are counted. */
export async function closedLoop(subject: Subject, on: Server, load: Load): Promise<Figures> {
  const { keys, inFlight } = load
  const mask = keys.length - 1
  // With many in flight, two clock readings for each decision would distort the measurement.
  const stride = inFlight > 32 ? 16 : 1
  const fewInFlight = inFlight <= 32
  const latencies: number[] = []
  let [asked, done, allowed, errors] = [0, 0, 0, 0]
  let phase: "settling" | "counting" | "over" = "settling"
  let [begin, end] = [snapshot(0), snapshot(0)]

  const watch = () => {
    const elapsed = performance.now() - startedAt
    if (phase === "settling" && elapsed >= settleMs) {
      begin = snapshot(done)
      phase = "counting"
    } else if (phase === "counting" && elapsed >= settleMs + load.ms) {
      end = snapshot(done)
      phase = "over"
    }
  }

  // Answers from memory stay within microtasks, which starve replies and timers: after 2,048 of them all workers wait for a turn
  // of the event loop.
  let gate: Promise<void> | undefined
  let [turning, since, open] = [false, 0, () => {}]
  const listen = () => {
    if (!turning) {
      turning = true
      since = done
      setImmediate(() => {
        turning = false
        gate = undefined
        open()
      })
    } else if (gate === undefined && done - since >= 2_048) {
      gate = new Promise((resolve) => {
        open = resolve
      })
    }
  }

  const work = async () => {
    while (phase !== "over") {
      const number = asked
      asked += 1
      const key = keys[number & mask] as string
      const timed = number % stride === 0
      const askedAt = timed ? performance.now() : 0
      let reply: unknown
      try {
        reply = await subject.decide(key)
      } catch (thrown) {
        reply = thrown
      }
      if (timed && phase === "counting") latencies.push(performance.now() - askedAt)
      try {
        if (subject.passed(reply)) allowed += 1
      } catch (error) {
        errors += 1
        noteError(subject, error)
      }
      done += 1
      // With few in flight on a slow network, 64 decisions take longer than a round.
      if (fewInFlight || done % 64 === 0) watch()
      if (done % 64 === 0) listen()
      if (gate !== undefined) await gate
    }
  }

  const cpu = await on.cpu()
  const { calls } = await on.scripts()
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: inFlight }, work))
  const tookMs = performance.now() - startedAt
  const redisCpu = (await on.cpu()) - cpu
  const redisCalls = (await on.scripts()).calls - calls

  const counted = end.done - begin.done
  latencies.sort((a, b) => a - b)
  return {
    rate: counted / ((end.at - begin.at) / 1_000),
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    nodeCpu: (end.cpu - begin.cpu) / counted,
    redisCpu: redisCpu / done,
    calls: redisCalls / (tookMs / 1_000),
    allowed: allowed / done,
    errors,
  }
}

const noted = new Set<string>()

/** Shows the first error of a subject: a column of numbers alone would not say what went wrong. */
export function noteError({ name }: Pick<Subject, "name">, error: unknown): void {
  if (noted.has(name)) return
  noted.add(name)
  console.error(`\n${name}: ${error instanceof Error ? error.message : String(error)}`)
}

function snapshot(done: number) {
  const { user, system } = process.cpuUsage()
  return { at: performance.now(), cpu: user + system, done }
}
