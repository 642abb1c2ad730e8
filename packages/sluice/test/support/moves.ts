import fc from "fast-check"
import type { Policy } from "sluice"
import type { PolicyRequest, StoreReply } from "sluice/store"
import type { BucketParameters } from "../../src/algorithms/bucket/bucket-parameters.js"
import { parametersOf } from "../../src/algorithms/index.js"
import { isInterval, limitOf, periodOf } from "./policy-kinds.js"

/** Some moment in 2026, in microseconds. It is no round number. */
export const EPOCH = 1_780_000_000_123_457

/** Beyond this time, fractional milliseconds can no longer represent single microseconds. */
const LATEST = 4e15
/** In 1973, to leave room for a clock that is far behind. */
const EARLIEST = 1e14

/** How the clock moves before the next operation, independent of the policy. */
export interface Move {
  readonly to: "here" | "near" | "slice" | "edge" | "grid" | "away" | "back" | "farBack"
  readonly size: number
  readonly nudge: number
}

const size = fc.integer({ min: 0, max: 11 })
const nudge = fc.constantFrom(0, 0, -1, 1)

const move = (to: readonly Move["to"][]) => fc.record<Move>({ to: fc.constantFrom(...to), size, nudge })

/** A clock that never goes back. */
export const forward = move([
  "here",
  "here",
  "near",
  "slice",
  "slice",
  "edge",
  "edge",
  "edge",
  "grid",
  "away",
])

/** A clock that mostly goes forward, and sometimes a little or very far back. */
export const anywhere = fc.oneof(
  { weight: 6, arbitrary: forward },
  { weight: 1, arbitrary: move(["back", "farBack"]) },
)

/** Times that the clock can aim at: a policy's period, and the edges in its last reply. */
export interface Aim {
  readonly policy: Policy
  readonly edges: readonly number[]
}

/** The microsecond that a move leads to. Only `back` and `farBack` go back from `now`. */
export function moved(now: number, { to, size, nudge }: Move, { policy, edges }: Aim): number {
  const period = periodOf(policy)
  const ahead = (us: number) => Math.max(now, Math.min(us + nudge, LATEST))
  const behind = (us: number) => Math.max(now - us + nudge, EARLIEST)
  switch (to) {
    case "here":
      return now
    case "near":
      return now + size * 97 + Math.abs(nudge)
    case "slice":
      return ahead(now + Math.floor((period * size) / 12))
    case "edge":
      return ahead(edges[size % Math.max(edges.length, 1)] ?? now + period)
    case "grid": {
      const pitch = pitches(policy)[size % 2] as number
      return ahead((Math.floor(now / pitch) + 1) * pitch)
    }
    case "away":
      return ahead(now + period * (size < 8 ? size : Math.min(1_000, Math.floor(1e14 / period))))
    case "back":
      if (size < 5) return behind(size * 417)
      return behind(size === 5 ? 1_000_000 : Math.floor((period * size) / 6))
    case "farBack":
      return behind(Math.min(period * (size + 2), 1e14) + size * 3_600_000_000)
  }
}

/** Lengths at whose multiples a policy may have edges. */
function pitches(policy: Policy): [number, number] {
  const period = periodOf(policy)
  if (policy.algorithm === "slidingWindow") return [Math.ceil(period / policy.buckets), period]
  return [isInterval(policy) ? policy.every * 1_000 : period, period]
}

/** The moments at which something changes, by the levels of a reply. */
export function edgesOf(policies: readonly PolicyRequest[], { levels }: StoreReply, now: number): number[] {
  return policies.flatMap(({ policy, cost }, i) => {
    const level = levels[i] as readonly number[]
    if (policy.algorithm === "fixedWindow") return [now + (level[1] as number)]
    if ("window" in policy) return [now + (level[1] as number), now + (level[2] ?? 0)]
    const { span, cost: costSpan, step } = parametersOf(policy, cost) as BucketParameters
    const [ahead, , late = 0] = level as [number, number?, number?]
    const reached = (us: number) => now - late + (step > 0 ? Math.ceil(us / step) * step : us)
    return [reached(ahead), reached(ahead + costSpan - span), reached(ahead + costSpan - span + 1)]
  })
}

/** The cost of a request, independent of the limit. */
export interface Size {
  readonly of: "one" | "few" | "share" | "limit"
  readonly n: number
}

export const anySize = fc.record<Size>({
  of: fc.constantFrom("one", "one", "few", "share", "limit"),
  n: fc.integer({ min: 0, max: 11 }),
})

/** From 1 to two more than the limit. */
export function costOf({ of, n }: Size, policy: Policy): number {
  const limit = limitOf(policy)
  if (of === "one") return 1
  if (of === "few") return Math.min(1 + (n % 4), limit + 2)
  if (of === "share") return Math.max(1, Math.floor((limit * n) / 12))
  return Math.max(1, limit + (n % 4) - 1)
}
