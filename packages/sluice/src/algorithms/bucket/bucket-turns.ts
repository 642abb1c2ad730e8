import type { Numbers } from "../../algorithm.js"
import { wholeMilliseconds } from "../../clock.js"
import { type BucketView, keep } from "./bucket-state.js"
import type { BucketTerms } from "./bucket-terms.js"

/** How the line of booked turns stands. */
export function line({ at, ahead, part, anchor, lapsesAt, last, low }: BucketView): number[] {
  return [at + ahead, part, last, low, Number.isNaN(anchor) ? -1 : anchor, lapsesAt]
}

/** Puts the line back to how it stood. */
export function restore(
  terms: BucketTerms,
  view: BucketView,
  line: readonly number[],
  cells: Numbers,
  cell: number,
): number {
  const [full, part, last, low, anchor, lapsesAt] = line as [number, number, number, number, number, number]
  if (Math.max(full + 1, lapsesAt) <= view.now) return 0
  view.ahead = full - view.at
  view.part = part
  view.last = last
  view.low = low
  view.anchor = anchor < 0 ? Number.NaN : anchor
  view.lapsesAt = lapsesAt
  return keep(terms, view, view.reach, cells, cell)
}

/** Spends into debt, up to the capacity once more. */
export function charge(
  terms: BucketTerms,
  view: BucketView,
  maxWait: number,
  cells: Numbers,
  cell: number,
): number {
  const { parts, step } = terms
  const carry = 2 * terms.spanPart >= parts ? 1 : 0
  // in whole steps: part of one would be paid with the next
  let most = 2 * terms.span + carry + (step > 0 ? maxWait - (maxWait % step) : maxWait)
  let mostPart = 2 * terms.spanPart - carry * parts
  if (view.ahead > most || (view.ahead === most && view.part > mostPart)) {
    most = view.ahead
    mostPart = view.part
  }
  view.ahead += terms.cost
  view.part += terms.costPart
  if (view.part >= parts) {
    view.part -= parts
    view.ahead += 1
  }
  if (view.ahead > most || (view.ahead === most && view.part > mostPart)) {
    view.ahead = most
    view.part = mostPart
  }
  const debt = view.ahead + (view.part > 0 ? 1 : 0)
  const reach = Math.max(terms.reach, wholeMilliseconds(view.at - view.now + debt))
  view.lapsesAt = Math.max(view.lapsesAt, view.now + terms.life)
  if (step > 0) {
    // debt may last until a step that comes later than any spending leads
    const paid = Math.ceil(debt / step) * step
    view.lapsesAt = Math.max(view.lapsesAt, view.at + paid)
  }
  return keep(terms, view, reach, cells, cell)
}
