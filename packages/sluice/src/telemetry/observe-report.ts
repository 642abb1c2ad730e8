import type { DecisionEvent } from "../events.js"
import { listen } from "./hub.js"
import { SpaceSaving } from "./space-saving.js"
import { listOf, MOST_LIMITERS, type SketchOptions, sketchSettings, type TopList } from "./top-list.js"

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
export function observeReport(options: SketchOptions & { readonly limiter?: string | undefined } = {}): {
  report(count?: number): ObserveReport
  stop(): void
} {
  const { capacity, nameOf } = sketchSettings(options)
  const { limiter: only } = options
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
    counts.keys.add(nameOf(key))
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
