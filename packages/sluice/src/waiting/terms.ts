import type { Decision } from "../decision.js"
import { type Duration, milliseconds } from "../duration.js"
import { SluiceError, shown } from "../errors.js"
import type { Answer } from "../store.js"

/** What ends a wait: an `AbortSignal`, of Node, a browser or a library. */
export interface Signal {
  readonly aborted: boolean
  readonly reason?: unknown
  addEventListener(type: "abort", listener: () => void): void
  removeEventListener(type: "abort", listener: () => void): void
}

export interface WaitOptions {
  /** How far ahead a turn may lie that somebody waits for; `"1m"` if left out. */
  readonly maxWait?: Duration
  /** How many wait in this process at the most; 10,000 if left out. */
  readonly maxWaiters?: number
}

/** Validates the options of waiting; microseconds. */
export function waitTerms({ maxWait = "1m", maxWaiters = 10_000 }: WaitOptions) {
  if (!Number.isInteger(maxWaiters) || maxWaiters < 1) {
    throw new SluiceError(
      "INVALID_OPTION",
      `maxWaiters must be an integer, 1 or more, got ${shown(maxWaiters)}`,
    )
  }
  return { maxWait: milliseconds(maxWait, "maxWait", "INVALID_OPTION") * 1_000, maxWaiters }
}

/** Refuses what is no signal, and throws the reason of one that is aborted. */
export function checkSignal(signal: Signal | undefined): void {
  if (signal?.aborted === true) throw signal.reason
  if (signal === undefined || (signal?.aborted === false && typeof signal.addEventListener === "function"))
    return
  throw new SluiceError("INVALID_OPTION", `signal must be an AbortSignal, got ${shown(signal)}`)
}

/** Why there is no turn to be had. */
export function refusal(decision: Decision, { turn }: Answer, maxWait: number): SluiceError {
  const { policy, limit, retryAfter } = decision
  if (decision.degraded) {
    return new SluiceError("STORE_REFUSED", "there is no turn to be had while the store does not answer", {
      decision,
    })
  }
  if (retryAfter === Number.POSITIVE_INFINITY) {
    const message = `the cost is more than ${shown(policy)} ever grants, ${limit}: its turn would never come`
    return new SluiceError("WAIT_TOO_LONG", message, { decision })
  }
  return turn === undefined
    ? new SluiceError("QUEUE_FULL", `as many wait under ${shown(policy)} as it holds, ${limit}`, { decision })
    : new SluiceError(
        "WAIT_TOO_LONG",
        `its turn would come in ${retryAfter} ms, past maxWait, ${maxWait / 1_000} ms`,
        {
          decision,
        },
      )
}
