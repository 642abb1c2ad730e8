import { wholeMilliseconds } from "../../clock.js"
import type { BucketParameters } from "./bucket-parameters.js"
import { type BucketState, type BucketView, stateOf } from "./bucket-state.js"

type Queue = readonly [
  place: number,
  part: number,
  last: number,
  low: number,
  anchor: number,
  lapsesAt: number,
  given: number,
]

export function queueState({ at, ahead, part, anchor, lapsesAt, last, low, given }: BucketView): number[] {
  return [at + ahead + given, part, last, low, anchor, anchor < 0 ? 0 : lapsesAt, given]
}

export function restore(
  parameters: BucketParameters,
  view: BucketView,
  queue: readonly number[],
): BucketState | undefined {
  const [place, part, last, low, anchor, lapsesAt, given] = queue as Queue
  const full = place - view.given
  if (Math.max(full + 1, lapsesAt) <= view.now) return undefined
  view.ahead = full - view.at
  view.part = part
  const hadGap = view.low < 0
  // A turn that was admitted in a gap may be later than this one.
  view.last = hadGap ? Math.max(last, view.last) : last
  // Less can be given back than then, by what was given back since.
  view.low = hadGap ? view.low : Math.max(low - (view.given - given), 0)
  view.anchor = anchor
  view.lapsesAt = lapsesAt
  return stateOf(parameters, view, view.reach)
}

/** The state at an earlier queue state. Steps are counted from its anchor for as long as turns are booked. */
export function frontState(view: BucketView, parts: number, queue: readonly number[]): BucketState {
  const [place, part, last, low, anchor, lapses] = queue as Queue
  const { given } = view
  const full = place - given
  const lapsesAt = lapses > view.now ? lapses : view.lapsesAt
  return {
    expiresAt: 0,
    full,
    part,
    parts,
    reach: Number.POSITIVE_INFINITY,
    anchor,
    lapsesAt,
    last,
    low,
    given,
  }
}

/** Spends into debt. The debt is at most the capacity. */
export function charge(parameters: BucketParameters, view: BucketView, maxWait: number): BucketState {
  const { parts, step } = parameters
  const carry = 2 * parameters.spanPart >= parts ? 1 : 0
  // Debt counts in whole steps, because units come back only at steps.
  let most = 2 * parameters.span + carry + (step > 0 ? maxWait - (maxWait % step) : maxWait)
  let mostPart = 2 * parameters.spanPart - carry * parts
  if (view.ahead > most || (view.ahead === most && view.part > mostPart)) {
    most = view.ahead
    mostPart = view.part
  }
  view.ahead += parameters.cost
  view.part += parameters.costPart
  if (view.part >= parts) {
    view.part -= parts
    view.ahead += 1
  }
  if (view.ahead > most || (view.ahead === most && view.part > mostPart)) {
    view.ahead = most
    view.part = mostPart
  }
  const debt = view.ahead + (view.part > 0 ? 1 : 0)
  const reach = Math.max(parameters.reach, wholeMilliseconds(view.at - view.now + debt))
  view.lapsesAt = Math.max(view.lapsesAt, view.now + parameters.life)
  if (step > 0) {
    // The step that pays the debt may come later than that of any spend.
    const paid = Math.ceil(debt / step) * step
    view.lapsesAt = Math.max(view.lapsesAt, view.at + paid)
  }
  return stateOf(parameters, view, reach)
}
