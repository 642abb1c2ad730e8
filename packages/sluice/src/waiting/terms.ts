import type { Decision } from "../decision.js"
import { type Duration, milliseconds } from "../duration.js"
import { type ErrorCode, SluiceError, shown } from "../errors.js"
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
  readonly maxWait?: Duration | undefined
  /** How many wait in this process at the most; 10,000 if left out. */
  readonly maxWaiters?: number | undefined
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
  const error = (code: ErrorCode, message: string) => new SluiceError(code, message, { decision })
  if (decision.degraded) {
    return error(
      "STORE_REFUSED",
      "there is no turn to be had while the store does not answer; try it again later",
    )
  }
  if (retryAfter === Number.POSITIVE_INFINITY) {
    const never = `the cost is more than ${shown(policy)} ever grants, ${limit}: its turn would never come`
    return error("WAIT_TOO_LONG", `${never}; ask for less, or raise the limit`)
  }
  if (turn === undefined) {
    const full = `as many wait under ${shown(policy)} as it holds, ${limit}`
    return error("QUEUE_FULL", `${full}; shed the work, or try it in ${retryAfter} ms`)
  }
  const late = `its turn would come in ${retryAfter} ms, past maxWait, ${maxWait / 1_000} ms`
  return error("WAIT_TOO_LONG", `${late}; shed the work, or raise maxWait`)
}
