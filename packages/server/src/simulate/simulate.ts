import { createLimiter, type Decision, memoryStore, type Policies, SluiceError } from "sluice"
import { KeyCounts } from "./key-counts.js"
import { costOf, isFree, type LineCost } from "./line-cost.js"
import { createParser, detectFormat, type LogFormat } from "./log-formats.js"
import { type LineParser, type LogLine, skipped } from "./log-line.js"
import type { Chunk } from "./read-lines.js"
import { Timeline, type TimelineReport } from "./timeline.js"

export interface SimulationOptions {
  readonly policy: Policies
  /** The field that is the key: `address`, `header:x-api-key`, or a name. Default: the address, or `key` in CSV. */
  readonly by?: string | undefined
  /** The field with the cost of a request, or one per policy. Default: a cost of 1. */
  readonly cost?: string | Readonly<Record<string, string>> | undefined
  readonly format?: LogFormat | undefined
  readonly timeField?: string | undefined
  /** How many keys the report names. */
  readonly top?: number | undefined
}

export interface DeniedKey {
  readonly key: string
  readonly requests: number
  readonly denied: number
  /** The most requests in one second of the log. */
  readonly peakPerSecond: number
}

export interface SimulationReport {
  readonly format: LogFormat | undefined
  readonly lines: number
  readonly requests: number
  readonly allowed: number
  readonly denied: number
  /** Requests that each policy denied, if there are several. */
  readonly deniedBy: Readonly<Record<string, number>>
  /** The keys with the most denials. */
  readonly top: readonly DeniedKey[]
  readonly from: number | undefined
  readonly to: number | undefined
  readonly timeline: TimelineReport | undefined
  readonly unreadable: { readonly count: number; readonly samples: readonly { line: number; text: string }[] }
  /** Lines without the field that is the key. They are not limited. */
  readonly withoutKey: number
  /** Lines up to a minute older than a line before them. They count at the time of that line. */
  readonly late: number
  /** Lines that are older than that. They are left out. */
  readonly tooOld: number
  /** Whether there were more keys than are counted one by one. */
  readonly isTopApproximate: boolean
}

/** Lines are written when a request ends, so the order of long requests differs from that of their times. */
const TOLERANCE = 60_000
const SAMPLES = 3

/** Runs a policy against a log. It uses the real memory store, on a clock that follows the times in the log. */
export async function simulate(
  chunks: AsyncIterable<Chunk>,
  options: SimulationOptions,
): Promise<SimulationReport> {
  const { policy, top = 10 } = options
  let now = 0
  const store = memoryStore({ clock: () => now })
  const limiter = createLimiter({ name: "simulate", policy, store })
  const isSingle = typeof policy.algorithm === "string"
  const keys = new KeyCounts()
  const timeline = new Timeline()
  const deniedBy: Record<string, number> = {}
  const samples: { line: number; text: string }[] = []
  const sums = { lines: 0, requests: 0, denied: 0, unreadable: 0, withoutKey: 0, late: 0, tooOld: 0 }
  let format = options.format
  let parse: LineParser | undefined
  let from: number | undefined

  const unreadable = (text: string) => {
    sums.unreadable += 1
    if (samples.length < SAMPLES) samples.push({ line: sums.lines, text: text.slice(0, 200) })
  }

  const decide = async (entry: LogLine, text: string) => {
    const key = entry.field(options.by ?? (format === "csv" ? "key" : "address"))
    if (key === undefined || key === "") {
      sums.withoutKey += 1
      return
    }
    if (entry.time < now - TOLERANCE) {
      sums.tooOld += 1
      return
    }
    const cost = costOf(entry, options.cost ?? (format === "csv" && isSingle ? "cost" : undefined))
    if (cost === undefined) return unreadable(text)
    if (entry.time < now) sums.late += 1
    now = Math.max(now, entry.time)
    const decision = await tryAcquire(key, cost)
    if (decision === "invalid") return unreadable(text)
    from ??= now
    const isDenied = decision !== "free" && !decision.allowed
    sums.requests += 1
    if (isDenied) {
      sums.denied += 1
      for (const each of decision.policies ?? []) {
        if (!each.allowed) deniedBy[each.policy] = (deniedBy[each.policy] ?? 0) + 1
      }
    }
    timeline.add(now, isDenied)
    keys.add(key, now, isDenied)
  }

  /** A request that costs nothing passes without a decision. */
  const tryAcquire = async (key: string, cost: LineCost): Promise<Decision | "free" | "invalid"> => {
    if (isFree(policy, cost)) return "free"
    try {
      return await limiter.tryAcquire(key, { cost })
    } catch (error) {
      if (error instanceof SluiceError && error.code === "INVALID_COST") return "invalid"
      throw error
    }
  }

  for await (const { lines, tooLong } of chunks) {
    for (const line of lines) {
      sums.lines += 1
      if (line === "") continue
      format ??= detectFormat(line, options.timeField)
      if (format !== undefined) parse ??= createParser(format, options.timeField)
      const entry = parse?.(line)
      if (entry === undefined) unreadable(line)
      else if (entry !== skipped) await decide(entry, line)
    }
    for (let i = 0; i < tooLong; i += 1) {
      sums.lines += 1
      unreadable("(a line of more than 1 MB)")
    }
  }
  await limiter.close()

  return {
    format,
    lines: sums.lines,
    requests: sums.requests,
    allowed: sums.requests - sums.denied,
    denied: sums.denied,
    deniedBy,
    top: keys
      .mostDenied(top)
      .map(({ key, requests, denied, peak }) => ({ key, requests, denied, peakPerSecond: peak })),
    from,
    to: from === undefined ? undefined : now,
    timeline: from === undefined ? undefined : timeline.report(),
    unreadable: { count: sums.unreadable, samples },
    withoutKey: sums.withoutKey,
    late: sums.late,
    tooOld: sums.tooOld,
    isTopApproximate: keys.hasForgotten,
  }
}
