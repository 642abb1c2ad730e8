import type { Gap, State, View } from "../../algorithm.js"
import type { PolicyRequest } from "../../store.js"
import type { Ledger, Looked } from "./memory-store.js"

/** The most gaps that one state keeps. If there are more, the shortest one passes unused. */
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
    const sooner = waitIn(algorithm.front(parameters, view, gap.front))
    // At the same time, in the gap rather than behind all turns.
    if (sooner > wait || sooner === Number.POSITIVE_INFINITY) break
    const then = sooner === 0 ? looked : look(policy, now + ahead + sooner)
    if (fill(then, gap, ahead + sooner) !== undefined) return { looked, gap, wait: sooner }
  }
  return { looked, gap: undefined, wait }
}

/** The front of a gap after the cost was taken there, `lead` ahead of the clock. Undefined if it does not fit. */
export function fill({ algorithm, parameters, view }: Looked, gap: Gap, lead: number): View | undefined {
  const filled = algorithm.front(parameters, view, gap.front)
  algorithm.take(parameters, filled, 1, lead)
  return algorithm.isWithin(parameters, filled, gap.back) ? filled : undefined
}

/** The state after a turn was given back, between two queue states: the queue ends earlier, or has a gap. */
export function freeTurn(
  { algorithm, parameters, view }: Looked,
  before: readonly number[],
  after: readonly number[],
): State | undefined {
  const isSame = (a: readonly number[], b: readonly number[]) =>
    a.every((number, i) => i >= algorithm.queueIdentity || number === b[i])
  const gaps = (view.gaps ?? []).filter(({ back }) => !algorithm.isOver(view, timeOf(back)))
  const remove = (index: number) => (index < 0 ? undefined : gaps.splice(index, 1)[0])
  view.gaps = gaps
  const { front } = remove(gaps.findIndex(({ back }) => isSame(back, before))) ?? { front: before }
  if (isSame(algorithm.queueState(view), after)) {
    if (gaps.length === 0) view.gaps = undefined
    return algorithm.restore(parameters, view, front)
  }
  const { back } = remove(gaps.findIndex((gap) => isSame(gap.front, after))) ?? { back: after }
  const behind = gaps.findIndex((gap) => timeOf(gap.back) > timeOf(back))
  gaps.splice(behind < 0 ? gaps.length : behind, 0, { front, back })
  if (gaps.length > MOST_GAPS) {
    remove(shortestOf(gaps))
    algorithm.dropGap?.(view)
  }
  return algorithm.save(parameters, view)
}

function timeOf(queue: readonly number[]): number {
  return queue[0] as number
}

/** The index of the shortest gap, the first of several. */
function shortestOf(gaps: readonly Gap[]): number {
  const lengths = gaps.map(({ front, back }) => timeOf(back) - timeOf(front))
  return lengths.indexOf(Math.min(...lengths))
}
