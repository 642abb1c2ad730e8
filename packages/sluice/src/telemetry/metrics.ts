// Counts events in plain numbers. Exporters read them when they are scraped, so that a decision pays for no exporter.

import type { DecisionEvent, SluiceEvent } from "../events.js"
import { type InstrumentName, instruments } from "./instruments.js"

/** A decision that leaves at most this share of the limit is near it. */
const NEAR = 0.2
/** How many pairs of limiter and policy are counted apart. Names may come from callers, and every map has a cap. */
const MOST_SERIES = 2_000
const OTHER = "_other"

export type Labels = Readonly<Record<string, string>>

/** A histogram as exporters want it: how many values lie in each bucket, not cumulated. */
export class Histogram {
  readonly bounds: readonly number[]
  readonly counts: number[]
  sum = 0
  count = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Array(bounds.length + 1).fill(0)
  }

  record(value: number): void {
    let i = 0
    while (i < this.bounds.length && value > (this.bounds[i] as number)) i += 1
    this.counts[i] = (this.counts[i] as number) + 1
    this.sum += value
    this.count += 1
  }
}

/** One value of a metric, under its labels. */
export interface Point {
  readonly labels: Labels
  readonly value: number | Histogram
}

const outcomes = ["allowed", "denied", "would_deny", "would_wait", "error"] as const
const sources = ["store", "cache", "lease", "fallback", "rule", "none"] as const

/** The counters of a policy of a limiter. */
class PolicyCounts {
  readonly labels: Labels
  /** By outcome and source. */
  readonly decisions: number[] = new Array(outcomes.length * sources.length).fill(0)
  near = 0
  wouldDeny = 0
  failedOpen = 0
  cost = 0
  limit = Number.NaN

  constructor(limiter: string, policy: string) {
    this.labels = { limiter, policy }
  }

  add(place: number): void {
    this.decisions[place] = (this.decisions[place] as number) + 1
  }
}

/** Values of one metric by their labels. */
class Series {
  readonly #points = new Map<string, { labels: Labels; value: number | Histogram }>()
  readonly #bounds: readonly number[] | undefined

  constructor(bounds?: readonly number[]) {
    this.#bounds = bounds
  }

  #at(labels: Labels) {
    const values = Object.values(labels).join("\n")
    const name = this.#points.size < MOST_SERIES || this.#points.has(values) ? values : OTHER
    let point = this.#points.get(name)
    if (point === undefined) {
      point = { labels, value: this.#bounds === undefined ? 0 : new Histogram(this.#bounds) }
      this.#points.set(name, point)
    }
    return point
  }

  add(value: number, labels: Labels = {}): void {
    const point = this.#at(labels)
    if (point.value instanceof Histogram) point.value.record(value)
    else point.value += value
  }

  set(value: number, labels: Labels = {}): void {
    this.#at(labels).value = value
  }

  get points(): readonly Point[] {
    return [...this.#points.values()]
  }
}

type Counted = "decisions" | "nearLimit" | "wouldDeny" | "failedOpen" | "cost" | "policyLimit"
type Sampled = Exclude<InstrumentName, Counted>

/** All metrics of a process, counted from its events. */
export class Metrics {
  readonly #policies = new Map<string, Map<string, PolicyCounts>>()
  #size = 0
  readonly #series: Readonly<Record<Sampled, Series>>

  constructor() {
    const series: Partial<Record<Sampled, Series>> = {}
    for (const [name, { bounds }] of Object.entries(instruments)) {
      series[name as Sampled] = new Series(bounds)
    }
    this.#series = series as Record<Sampled, Series>
  }

  /** Counts an event. */
  readonly record = (event: SluiceEvent): void => {
    const series = this.#series
    switch (event.type) {
      case "decision":
        this.#decision(event)
        break
      case "store":
        series.storeDuration.add(event.duration / 1_000, {
          call: event.call,
          "error.type": event.error ?? "",
        })
        break
      case "batch":
        series.batchSize.add(event.requests)
        break
      case "retry":
        series.retries.add(event.requests)
        break
      case "lease":
        series.leaseActive.add(event.change === "taken" ? 1 : -1)
        break
      case "wait": {
        const { limiter, result = "error", duration = 0 } = event
        series.waiterCount.add(event.change === "started" ? 1 : -1, { limiter })
        if (event.change === "ended") series.waitDuration.add(duration / 1_000, { limiter, result })
        break
      }
      case "reservation": {
        const { limiter, ratio } = event
        series.reservationActive.add(event.change === "made" ? 1 : -1, { limiter })
        if (ratio !== undefined) series.reservationError.add(ratio, { limiter })
        break
      }
      case "breaker":
        series.breakerState.set(event.state === "open" ? 1 : 0, { limiter: event.limiter })
        break
      case "rules":
        series.ruleCount.set(event.rules)
        break
    }
  }

  /** The values of a metric. */
  points(name: InstrumentName): readonly Point[] {
    switch (name) {
      case "decisions":
        return this.#all().flatMap(decisionPoints)
      case "nearLimit":
        return this.#all().map(({ labels, near: value }) => ({ labels, value }))
      case "wouldDeny":
        return this.#all().map(({ labels, wouldDeny: value }) => ({ labels, value }))
      case "failedOpen":
        return this.#all().map(({ labels, failedOpen: value }) => ({ labels, value }))
      case "cost":
        return this.#all().map(({ labels, cost: value }) => ({ labels, value }))
      case "policyLimit":
        return this.#all().flatMap(({ labels, limit: value }) =>
          Number.isNaN(value) ? [] : [{ labels, value }],
        )
      default:
        return this.#series[name].points
    }
  }

  #all(): PolicyCounts[] {
    return [...this.#policies.values()].flatMap((byPolicy) => [...byPolicy.values()])
  }

  #of(limiter: string, policy: string): PolicyCounts {
    const known = this.#policies.get(limiter)?.get(policy)
    if (known !== undefined) return known
    if (this.#size >= MOST_SERIES && policy !== OTHER) return this.#of(OTHER, OTHER)
    let byPolicy = this.#policies.get(limiter)
    if (byPolicy === undefined) {
      byPolicy = new Map()
      this.#policies.set(limiter, byPolicy)
    }
    const counts = new PolicyCounts(limiter, policy)
    byPolicy.set(policy, counts)
    this.#size += 1
    return counts
  }

  #decision({ limiter, outcome, decision, costs, duration }: DecisionEvent): void {
    if (duration !== undefined) this.#series.decisionDuration.add(duration / 1_000, { limiter })
    if (decision === undefined) {
      this.#of(limiter, "").add(placeOf(outcome, "none"))
      return
    }
    const { source, degraded, policies } = decision
    const counts = this.#of(limiter, decision.policy)
    counts.add(placeOf(outcome, source))
    const passed = outcome === "allowed"
    if (degraded && passed) counts.failedOpen += 1
    const isCharged = passed && !degraded && source !== "rule"
    const isObserved = decision.observed !== undefined
    if (policies === undefined) {
      count(counts, decision.limit, decision.remaining, isCharged ? (costs[0] as number) : 0)
      if (isObserved) counts.wouldDeny += 1
      return
    }
    for (let i = 0; i < policies.length; i += 1) {
      const { policy, limit, remaining, allowed } = policies[i] as (typeof policies)[number]
      const own = this.#of(limiter, policy)
      count(own, limit, remaining, isCharged ? (costs[i] ?? 0) : 0)
      if (isObserved && !allowed) own.wouldDeny += 1
    }
  }
}

function placeOf(outcome: (typeof outcomes)[number], source: (typeof sources)[number]): number {
  return outcomes.indexOf(outcome) * sources.length + sources.indexOf(source)
}

function count(counts: PolicyCounts, limit: number, remaining: number, cost: number): void {
  counts.limit = limit
  if (cost === 0) return
  counts.cost += cost
  if (remaining <= limit * NEAR) counts.near += 1
}

function decisionPoints({ labels, decisions }: PolicyCounts): Point[] {
  return decisions.flatMap((value, i) => {
    if (value === 0) return []
    const outcome = outcomes[Math.floor(i / sources.length)] as string
    return [{ labels: { ...labels, outcome, source: sources[i % sources.length] as string }, value }]
  })
}
