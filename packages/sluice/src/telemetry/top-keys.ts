import { checkStore } from "../check-store.js"
import { type Duration, milliseconds } from "../duration.js"
import { checkFields } from "../errors.js"
import type { Store } from "../store.js"
import { listen } from "./hub.js"
import { publishReports } from "./published-reports.js"
import { SpaceSaving } from "./space-saving.js"
import {
  listOf,
  MOST_LIMITERS,
  mergeLists,
  type SketchOptions,
  sketchSettings,
  type TopList,
} from "./top-list.js"

export interface TopKeysOptions extends SketchOptions {
  /** Publishes the report of this process in the store, so that `merged` has those of all processes. Default: nothing is published. */
  readonly store?: Store | undefined
  /** How often the report is published. It expires after three times as long. Default: `"5s"`. */
  readonly every?: Duration | undefined
}

export interface TopKeysReport {
  readonly limiter: string
  /** By requests. */
  readonly busiest: TopList
  /** By denials. */
  readonly denied: TopList
}

/** The top keys of several processes. */
export interface MergedTopKeys {
  /** How many processes these are, with this one. */
  readonly processes: number
  readonly reports: readonly TopKeysReport[]
}

export interface TopKeys {
  /** The top keys of each limiter in this process. */
  report(count?: number): TopKeysReport[]
  /** The top keys of all processes that publish to the same store. Rejects if the store does not answer. */
  merged(count?: number): Promise<MergedTopKeys>
  /** Starts to count anew. */
  clear(): void
  /** Stops counting, and withdraws the report from the store. */
  stop(): void
}

/** How many keys of each list other processes get to see. */
const PUBLISHED_KEYS = 200

/** Counts the busiest and the most denied keys of every limiter in this process, in bounded memory. Off until called. */
export function topKeys(options: TopKeysOptions = {}): TopKeys {
  checkFields("INVALID_OPTION", "topKeys", options, ["capacity", "mask", "store", "every"])
  const { capacity, nameOf } = sketchSettings(options)
  const { store, every = "5s" } = options
  if (store !== undefined) checkStore(store)
  const pause = milliseconds(every, "every", "INVALID_OPTION")
  const limiters = new Map<string, { busiest: SpaceSaving; denied: SpaceSaving }>()
  const sketchesOf = (limiter: string) => {
    let sketches = limiters.get(limiter)
    if (sketches === undefined && limiters.size < MOST_LIMITERS) {
      sketches = { busiest: new SpaceSaving(capacity), denied: new SpaceSaving(capacity) }
      limiters.set(limiter, sketches)
    }
    return sketches
  }
  const stopListening = listen(
    (event, key) => {
      if (event.type !== "decision" || key === undefined) return
      const sketches = sketchesOf(event.limiter)
      const kept = nameOf(key)
      sketches?.busiest.add(kept)
      if (event.outcome === "denied") sketches?.denied.add(kept)
    },
    { keys: true },
  )
  const report = (count = 20) =>
    [...limiters].map(([limiter, { busiest, denied }]) => ({
      limiter,
      busiest: listOf(busiest, count),
      denied: listOf(denied, count),
    }))
  const published = store?.reports && publishReports(store.reports, pause, report, PUBLISHED_KEYS)
  return {
    report,
    async merged(count = 20) {
      const others = (await published?.others()) ?? []
      const reports = [report(PUBLISHED_KEYS), ...others]
      return { processes: reports.length, reports: mergeTopKeys(reports, count) }
    },
    clear: () => limiters.clear(),
    stop() {
      stopListening()
      published?.stop()
    },
  }
}

/** Adds up the reports of several processes. The errors add up too. */
export function mergeTopKeys(reports: readonly (readonly TopKeysReport[])[], count = 20): TopKeysReport[] {
  const byLimiter = new Map<string, TopKeysReport[]>()
  for (const report of reports.flat()) {
    const own = byLimiter.get(report.limiter) ?? []
    byLimiter.set(report.limiter, own)
    own.push(report)
  }
  return [...byLimiter].map(([limiter, own]) => {
    const merge = (list: "busiest" | "denied") =>
      mergeLists(
        own.map((report) => report[list]),
        count,
      )
    return { limiter, busiest: merge("busiest"), denied: merge("denied") }
  })
}
