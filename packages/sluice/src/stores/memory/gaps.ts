import type { Gap, State, View } from "../../algorithm.js"
import { wholeMilliseconds } from "../../clock.js"
import type { PolicyRequest } from "../../store.js"
import type { Ledger, Looked } from "./memory-store.js"

/** The most gaps that one state keeps. If there are more, it drops one that is over, or else the shortest, which passes unused. */
const MOST_GAPS = 8

/** Where a policy admits its cost, and when. */
export interface Place {
  readonly looked: Looked
  /** Undefined if it is behind all turns. */
  readonly gap: Gap | undefined
  /** Microseconds until the cost fits there. */
  readonly wait: number
}

/** The soonest place for the cost of a policy, as seen from `ahead` microseconds after now. */
export function soonestPlace(
  look: Ledger["look"],
  policy: PolicyRequest,
  now: number,
  ahead: number,
  isTurn: boolean,
): Place {
  const looked = look(policy, now + ahead)
  const { algorithm, parameters, view } = looked
  const waitIn = (front: View) =>
    isTurn
      ? algorithm.turn(parameters, front)
      : algorithm.wait(parameters, algorithm.level(parameters, front, true))
  const wait = waitIn(view)
  // Later gaps have later fronts. So the first gap that the cost fits into is the soonest.
  for (const gap of view.gaps ?? []) {
    if (algorithm.isOver(view, timeOf(gap.back))) continue
    const sooner = waitIn(frontOf(looked, gap))
    // At the same time, in the gap rather than behind all turns.
    if (sooner > wait || sooner === Number.POSITIVE_INFINITY) break
    // Who does not wait for a turn is told whole milliseconds, and comes back then.
    const comesIn = ahead + (isTurn ? sooner : wholeMilliseconds(sooner) * 1_000)
    const then = sooner === 0 ? looked : look(policy, now + comesIn)
    if (fill(then, gap, comesIn) !== undefined) return { looked, gap, wait: sooner }
  }
  return { looked, gap: undefined, wait }
}

/** The state at the front of a gap. */
export function frontOf({ algorithm, parameters, view }: Looked, { front, back }: Gap): View {
  return algorithm.front(parameters, view, front, back)
}

/** The front of a gap after the cost was taken there, `lead` ahead of the clock. Undefined if it does not fit. */
export function fill(looked: Looked, gap: Gap, lead: number, times = 1): View | undefined {
  const { algorithm, parameters } = looked
  const filled = frontOf(looked, gap)
  algorithm.take(parameters, filled, times, lead)
  return algorithm.isWithin(parameters, filled, gap.back) ? filled : undefined
}

/** How often the costs fit into these places at once, at most `most` times. They fit once. Not always the most, but found in few steps. */
export function timesIn(places: readonly Place[], most: number): number {
  let times = most
  for (const { looked, gap } of places) {
    const { algorithm, parameters, view } = looked
    times = algorithm.room(parameters, gap ? frontOf(looked, gap) : view, times)
  }
  const isTooMuch = ({ looked, gap }: Place) => gap !== undefined && fill(looked, gap, 0, times) === undefined
  while (times > 1 && places.some(isTooMuch)) times = Math.floor(times / 2)
  return Math.max(times, 1)
}

/** How many gaps between booked turns a request can still take. */
export function countGaps({ algorithm, view }: Looked): number {
  return (view.gaps ?? []).filter(({ back }) => !algorithm.isOver(view, timeOf(back))).length
}

/** Negative if a queue state comes before another, 0 if it is the same. */
function compare(identity: number, a: readonly number[], b: readonly number[]): number {
  const i = a.findIndex((number, at) => number !== b[at])
  return i < 0 || i >= identity ? 0 : (a[i] as number) - (b[i] as number)
}

/** Whether a turn is in no queue any more: it was given back already, or units were given back that it had spent. */
export function isFree(
  { algorithm, view }: Looked,
  before: readonly number[],
  after: readonly number[],
): boolean {
  const isAfter = (a: readonly number[], b: readonly number[]) => compare(algorithm.queueIdentity, a, b) > 0
  if (isAfter(after, algorithm.queueState(view))) return true
  return (view.gaps ?? []).some(({ front, back }) => !isAfter(front, before) && !isAfter(after, back))
}

/** The state after a turn was given back, between two queue states: the queue ends earlier, or has a gap. */
export function freeTurn(
  { algorithm, parameters, view }: Looked,
  before: readonly number[],
  after: readonly number[],
): State | undefined {
  const isSame = (a: readonly number[], b: readonly number[]) => compare(algorithm.queueIdentity, a, b) === 0
  const gaps = [...(view.gaps ?? [])]
  const remove = (index: number) => (index < 0 ? undefined : gaps.splice(index, 1)[0])
  view.gaps = gaps
  const { front } = remove(gaps.findIndex(({ back }) => isSame(back, before))) ?? { front: before }
  if (isSame(algorithm.queueState(view), after)) {
    if (gaps.length === 0) view.gaps = undefined
    return algorithm.restore(parameters, view, front)
  }
  const { back } = remove(gaps.findIndex((gap) => isSame(gap.front, after))) ?? { back: after }
  const behind = gaps.findIndex((gap) => compare(algorithm.queueIdentity, gap.back, back) > 0)
  gaps.splice(behind < 0 ? gaps.length : behind, 0, { front, back })
  const isFirstOver = algorithm.isOver(view, timeOf((gaps[0] as Gap).back))
  if (gaps.length > MOST_GAPS) remove(isFirstOver ? 0 : shortestOf(gaps))
  algorithm.noteGap?.(view)
  return algorithm.save(parameters, view)
}

function timeOf(queue: readonly number[]): number {
  return queue[0] as number
}

/** The index of the shortest gap, the last of several: sooner gaps are worth more. */
function shortestOf(gaps: readonly Gap[]): number {
  const lengths = gaps.map(({ front, back }) => timeOf(back) - timeOf(front))
  return lengths.lastIndexOf(Math.min(...lengths))
}
