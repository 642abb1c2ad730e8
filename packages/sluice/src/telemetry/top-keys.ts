import { SluiceError, shown } from "../errors.js"
import type { DecisionEvent } from "../events.js"
import { listen } from "./hub.js"
import { type Frequent, SpaceSaving } from "./space-saving.js"

export interface TopKeysOptions {
  /** How many keys are counted at once, per limiter. The error is at most a `capacity`-th of all counts. Default: 1,000. */
  readonly capacity?: number | undefined
  /** Makes something of a key before it is kept: a mask or a hash. Default: the key as it is, cut to 256 characters. */
  readonly mask?: ((key: string) => string) | undefined
}

/** The most frequent keys of a limiter. */
export interface TopList {
  readonly keys: readonly Frequent[]
  /** How much was counted over all keys. */
  readonly total: number
  /** No count is too high by more than this. Every key with more counts than this is counted. */
  readonly errorBound: number
}

export interface TopKeysReport {
  readonly limiter: string
  /** By requests. */
  readonly busiest: TopList
  /** By denials. */
  readonly denied: TopList
}

export interface TopKeys {
  /** The top keys of each limiter in this process. */
  report(count?: number): TopKeysReport[]
  /** Starts to count anew. */
  clear(): void
  stop(): void
}

/** How many limiters are counted; their names are the program's own. */
const MOST_LIMITERS = 1_000
const LONGEST_KEY = 256

/** Counts the busiest and the most denied keys of every limiter in this process, in bounded memory. Off until called. */
export function topKeys(options: TopKeysOptions = {}): TopKeys {
  const { capacity = 1_000, mask = cut } = options
  checkCapacity(capacity)
  const limiters = new Map<string, { busiest: SpaceSaving; denied: SpaceSaving }>()
  const sketchesOf = (limiter: string) => {
    let sketches = limiters.get(limiter)
    if (sketches === undefined && limiters.size < MOST_LIMITERS) {
      sketches = { busiest: new SpaceSaving(capacity), denied: new SpaceSaving(capacity) }
      limiters.set(limiter, sketches)
    }
    return sketches
  }
  const stop = listen(
    (event, key) => {
      if (event.type !== "decision" || key === undefined) return
      const sketches = sketchesOf(event.limiter)
      const kept = mask(key)
      sketches?.busiest.add(kept)
      if (event.outcome === "denied") sketches?.denied.add(kept)
    },
    { keys: true },
  )
  return {
    report: (count = 20) =>
      [...limiters].map(([limiter, { busiest, denied }]) => ({
        limiter,
        busiest: listOf(busiest, count),
        denied: listOf(denied, count),
      })),
    clear: () => limiters.clear(),
    stop,
  }
}

/** Adds up the reports of several processes. The errors add up too. */
export function mergeTopKeys(reports: readonly (readonly TopKeysReport[])[], count = 20): TopKeysReport[] {
  const limiters = [...new Set(reports.flat().map(({ limiter }) => limiter))]
  return limiters.map((limiter) => {
    const own = reports.flat().filter((report) => report.limiter === limiter)
    return {
      limiter,
      busiest: mergeLists(
        own.map(({ busiest }) => busiest),
        count,
      ),
      denied: mergeLists(
        own.map(({ denied }) => denied),
        count,
      ),
    }
  })
}

function mergeLists(lists: readonly TopList[], count: number): TopList {
  const sums = new Map<string, { count: number; error: number }>()
  for (const { keys } of lists) {
    for (const { key, count, error } of keys) {
      const sum = sums.get(key) ?? { count: 0, error: 0 }
      sums.set(key, { count: sum.count + count, error: sum.error + error })
    }
  }
  const keys = [...sums].map(([key, sum]) => ({ key, ...sum })).sort((a, b) => b.count - a.count)
  const sumOf = (field: "total" | "errorBound") => lists.reduce((sum, list) => sum + list[field], 0)
  return { keys: keys.slice(0, count), total: sumOf("total"), errorBound: sumOf("errorBound") }
}

function listOf(sketch: SpaceSaving, count: number): TopList {
  return { keys: sketch.top(count), total: sketch.total, errorBound: sketch.errorBound }
}

function cut(key: string): string {
  return key.length > LONGEST_KEY ? `${key.slice(0, LONGEST_KEY)}…` : key
}

function checkCapacity(capacity: unknown): void {
  if (typeof capacity === "number" && Number.isInteger(capacity) && capacity > 0 && capacity <= 1_000_000)
    return
  throw new SluiceError(
    "INVALID_OPTION",
    `capacity must be an integer from 1 to 1,000,000, got ${shown(capacity)}`,
  )
}

/** What observe mode would have done under one policy. */
export interface ObservedPolicy {
  readonly limiter: string
  readonly policy: string
  /** How many requests would have been denied by this policy, and how many would have waited for it. */
  readonly wouldDeny: number
  readonly wouldWait: number
  /** The keys among them. */
  readonly keys: TopList
}

export interface ObserveReport {
  /** How many requests limiters have decided on since the start, and how many of them would not have passed at once. */
  readonly requests: number
  readonly observed: number
  readonly policies: readonly ObservedPolicy[]
}

/** Collects what limiters in observe mode would have denied, by policy and key. */
export function observeReport(options: TopKeysOptions & { readonly limiter?: string | undefined } = {}): {
  report(count?: number): ObserveReport
  stop(): void
} {
  const { capacity = 1_000, mask = cut, limiter: only } = options
  checkCapacity(capacity)
  const policies = new Map<
    string,
    { limiter: string; policy: string; deny: number; wait: number; keys: SpaceSaving }
  >()
  let requests = 0
  let observed = 0
  const count = ({ limiter, outcome }: DecisionEvent, policy: string, key: string) => {
    const name = JSON.stringify([limiter, policy])
    let counts = policies.get(name)
    if (counts === undefined) {
      if (policies.size >= MOST_LIMITERS) return
      counts = { limiter, policy, deny: 0, wait: 0, keys: new SpaceSaving(capacity) }
      policies.set(name, counts)
    }
    if (outcome === "would_wait") counts.wait += 1
    else counts.deny += 1
    counts.keys.add(mask(key))
  }
  const stop = listen(
    (event, key = "") => {
      if (event.type !== "decision" || (only !== undefined && event.limiter !== only)) return
      requests += 1
      const { decision } = event
      if (decision?.observed === undefined) return
      observed += 1
      if (decision.policies === undefined) count(event, decision.policy, key)
      else for (const { policy, allowed } of decision.policies) if (!allowed) count(event, policy, key)
    },
    { keys: true },
  )
  return {
    report: (top = 20) => ({
      requests,
      observed,
      policies: [...policies.values()].map(({ limiter, policy, deny, wait, keys }) => ({
        limiter,
        policy,
        wouldDeny: deny,
        wouldWait: wait,
        keys: listOf(keys, top),
      })),
    }),
    stop,
  }
}
