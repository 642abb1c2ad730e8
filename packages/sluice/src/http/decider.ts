import type { Decision } from "../decision.js"
import type { Limiter } from "../limiter.js"
import type { Cost, Policies } from "../policies.js"
import { wasDenied } from "./describe.js"
import type { Judgement, RateLimitOptions } from "./options.js"
import type { HttpRequest } from "./request.js"

/** Gets the decision of a limiter for one HTTP request. */
type Decider<R> = (
  limiter: Limiter,
  key: string,
  cost: Cost<Policies>,
  policy: Policies | undefined,
  request: R,
  http: HttpRequest,
) => Promise<{ readonly decision: Decision; readonly finish: Judgement["finish"] }>

/**
 * Makes a decider from the options. It decides at once, waits for up to `timeout` milliseconds, or makes a reservation and
 * settles it after the response.
 */
export function deciderOf<R extends object>(options: RateLimitOptions<R>, timeout: number): Decider<R> {
  const { count = "all", onError } = options
  if (count !== "all") {
    return async (limiter, key, cost, policy, request) => {
      const { decision, ...pending } = await limiter.reserve(key, { cost, policy })
      let over = false
      const finish = async (outcome: number | "aborted") => {
        // A stream that is cancelled may also end.
        if (over) return
        over = true
        const failure = outcome === "aborted" || outcome >= 400
        // A denial by a limiter further in is neither a success nor a failure of the handler.
        const counts = !wasDenied(request) && failure === (count === "failures")
        try {
          await (counts ? pending.settle(asReserved(cost)) : pending.cancel())
        } catch (error) {
          onError?.(error, request)
        }
      }
      return { decision, finish }
    }
  }
  if (timeout > 0) {
    return async (limiter, key, cost, policy, _, http) => {
      const signal = http.signal?.()
      return { decision: await limiter.tryAcquire(key, { cost, policy, timeout, signal }), finish: undefined }
    }
  }
  return async (limiter, key, cost, policy) => {
    // Without options the limiter takes its fast path.
    const plain = cost === 1 && policy === undefined
    const decision = await (plain ? limiter.tryAcquire(key) : limiter.tryAcquire(key, { cost, policy }))
    return { decision, finish: undefined }
  }
}

/** The cost to settle with when the request counts. A policy without a cost keeps the reserved cost. */
function asReserved(cost: Cost<Policies>): Cost<Policies> {
  return cost === 1 ? {} : cost
}
