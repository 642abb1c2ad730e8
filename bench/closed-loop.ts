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

/** Until as many decisions are under way as will be, and while the last ones end, nothing is counted. */
const settleMs = 40

/** Asks for decisions, so many at a time, each worker for its next one when it has its last. */
export async function closedLoop(subject: Subject, on: Server, load: Load): Promise<Figures> {
  const { keys, inFlight } = load
  const mask = keys.length - 1
  // with many in flight a clock read twice for each would be a good part of what is measured
  const stride = inFlight > 32 ? 16 : 1
  const latencies: number[] = []
  let [asked, done, allowed] = [0, 0, 0]
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

  // Answers from memory never leave the queue of microtasks, where no reply and no timer is heard: after so many
  // without a turn of the event loop everybody waits for one.
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
      let answer: unknown
      try {
        answer = await subject.decide(key)
      } catch (thrown) {
        answer = thrown
      }
      if (timed && phase === "counting") latencies.push(performance.now() - askedAt)
      if (subject.passed(answer)) allowed += 1
      done += 1
      if (done % 64 === 0) {
        watch()
        listen()
      }
      if (gate !== undefined) await gate
    }
  }

  const cpu = await on.cpu()
  const calls = await on.scriptCalls()
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: inFlight }, work))
  const tookMs = performance.now() - startedAt
  const redisCpu = (await on.cpu()) - cpu
  const redisCalls = (await on.scriptCalls()) - calls

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
  }
}

function snapshot(done: number) {
  const { user, system } = process.cpuUsage()
  return { at: performance.now(), cpu: user + system, done }
}
