import type { Decision } from "../decision.js"
import { type Duration, milliseconds } from "../duration.js"
import { type ErrorCode, SluiceError, shown } from "../errors.js"
import type { StoreReply } from "../store.js"

/** An `AbortSignal` of Node, a browser or a library. Aborting it ends a wait. */
export interface Signal {
  readonly aborted: boolean
  readonly reason?: unknown
  addEventListener(type: "abort", listener: () => void): void
  removeEventListener(type: "abort", listener: () => void): void
}

export interface WaitOptions {
  /** The longest wait for a turn. Default: `"1m"`. */
  readonly maxWait?: Duration | undefined
  /**
   * How many requests may wait in this process. Default: 10,000. One key may hold at most as many of these places as are
   * still free: half of them while no other key waits. Requests that need not wait pass even when all places are taken.
   */
  readonly maxWaiters?: number | undefined
}

/** Validates the options for waiting. The result is in microseconds. */
export function waitSettings({ maxWait = "1m", maxWaiters = 10_000 }: WaitOptions) {
  if (!Number.isInteger(maxWaiters) || maxWaiters < 1) {
    throw new SluiceError(
      "INVALID_OPTION",
      `maxWaiters must be an integer, 1 or more, got ${shown(maxWaiters)}`,
    )
  }
  return { maxWait: milliseconds(maxWait, "maxWait", "INVALID_OPTION") * 1_000, maxWaiters }
}

/** Throws if the value is not a signal, or with the reason of a signal that is aborted. */
export function checkSignal(signal: Signal | undefined): void {
  if (signal?.aborted === true) throw signal.reason
  if (signal === undefined || (signal?.aborted === false && typeof signal.addEventListener === "function"))
    return
  throw new SluiceError("INVALID_OPTION", `signal must be an AbortSignal, got ${shown(signal)}`)
}

/** The error for a request without a turn. If the queue was full, `full` makes its message from the milliseconds to wait. */
export function refusal(
  decision: Decision,
  { at, turn }: StoreReply,
  {
    limiter,
    maxWait,
    full,
  }: { limiter: string; maxWait: number; full?: ((ms: number) => string) | undefined },
): SluiceError {
  const { policy, limit, retryAfter } = decision
  const error = (code: ErrorCode, message: string) => new SluiceError(code, message, { decision })
  if (decision.degraded) {
    return error("STORE_REFUSED", "the store does not answer, so there is no turn; retry later")
  }
  if (decision.source === "rule") {
    const until = retryAfter === Number.POSITIVE_INFINITY ? "" : ` for another ${retryAfter} ms`
    return error("BLOCKED", `a rule of limiter ${shown(limiter)} blocks this key${until}`)
  }
  if (retryAfter === Number.POSITIVE_INFINITY) {
    const never = `the cost exceeds the most that policy ${shown(policy)} can grant, ${limit}`
    return error("WAIT_TOO_LONG", `${never}; lower the cost, or raise the limit`)
  }
  if (turn === undefined) {
    const holder = `policy ${shown(policy)} of limiter ${shown(limiter)}`
    const held = `queue full: ${holder} holds ${limit} ${limit === 1 ? "unit" : "units"}`
    return error("QUEUE_FULL", `${held}; retry in ${retryAfter} ms, or shed the work`)
  }
  if (full !== undefined && turn - at <= maxWait) return error("QUEUE_FULL", full(retryAfter))
  const late = `its turn would come in ${retryAfter} ms, past maxWait, ${maxWait / 1_000} ms`
  return error("WAIT_TOO_LONG", `${late}; shed the work, or raise maxWait`)
}
