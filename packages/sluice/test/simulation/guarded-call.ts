import type { StoreRequest } from "sluice/store"

/** A call of a limiter to its store, and what came of it beneath the outage layer. */
export interface Call {
  readonly ask: StoreRequest | undefined
  readonly since: number
  /** How long its process had been held up by then. */
  readonly stalled: number
  readonly reachable: boolean
  /** The line of whoever waits by it. */
  readonly line: string | undefined
  /** Whether the store was asked, and charged before with what had been spent without it. */
  asked: boolean
  charged: boolean
  /** Whether the answer was remembered or leased: the store was not reached for it. */
  atHand: boolean
  /** What the store has said in time. */
  answer: unknown
  answered: boolean
  error: unknown
  /** Whether its caller has been told something. */
  over: boolean
}

export function newCall(
  request: StoreRequest | undefined,
  since: number,
  stalled: number,
  reachable: boolean,
  line: string | undefined,
): Call {
  return {
    ask: request,
    since,
    stalled,
    reachable,
    line,
    asked: false,
    charged: false,
    atHand: false,
    answer: undefined,
    answered: false,
    error: undefined,
    over: false,
  }
}
