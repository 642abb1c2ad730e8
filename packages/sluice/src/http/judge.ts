import { SluiceError } from "../errors.js"
import { clientKey } from "./client-key.js"
import { deciderOf } from "./decider.js"
import { customised, type Denial, disconnected, outageDenial, quotaDenial } from "./denial.js"
import { describerOf, noteDenial } from "./describe.js"
import { limiterOf } from "./limiter-of.js"
import { checkOptions, type Judgement, type RateLimitOptions } from "./options.js"
import type { HttpRequest } from "./request.js"

/** Decides one request. `request` is the framework's own object, `http` its common form. */
export type Judge<R> = (request: R, http: HttpRequest) => Promise<Judgement>

const passed: Judgement = { decision: undefined, headers: {}, denial: undefined, finish: undefined }

/** Makes the judge that every framework module wraps. It checks the options and creates the limiter once. */
export function createJudge<R extends object>(options: RateLimitOptions<R>): Judge<R> {
  const timeout = checkOptions(options)
  const limiterFor = limiterOf(options)
  const { key = clientKey(), cost = 1, skip, onDenied, onError } = options
  // A fixed policy in the options already belongs to the limiter created from them.
  const policyFor =
    typeof options.policy === "function" || options.limiter !== undefined ? options.policy : undefined
  const decide = deciderOf(options, timeout)
  const describe = describerOf(options)

  const denied = async (request: R, denial: Denial): Promise<Judgement> => {
    noteDenial(request)
    const custom = await onDenied?.(request, denial)
    return { ...passed, decision: denial.decision, denial: customised(denial, custom) }
  }

  return async (request, http) => {
    if (skip !== undefined && (await skip(request, http))) return passed
    // A value that is no promise is not awaited: each await takes a turn of the microtask queue.
    const units = typeof cost === "function" ? await cost(request, http) : cost
    if (units === 0) return passed
    const limiter = typeof limiterFor === "function" ? await limiterFor(request, http) : limiterFor
    const policy = typeof policyFor === "function" ? await policyFor(request, http) : policyFor
    const named = key(request, http)
    const who = typeof named === "string" ? named : await named
    try {
      const { decision, finish } = await decide(limiter, who, units, policy, request, http)
      const { quotas, headers } = describe(request, limiter, decision)
      if (decision.allowed) return { decision, headers, denial: undefined, finish }
      return await denied(request, quotaDenial(decision, quotas, headers))
    } catch (error) {
      if (timeout > 0 && http.signal?.().aborted === true) return { ...passed, denial: disconnected() }
      // Other errors are mistakes in the application, which the framework reports.
      if (!(error instanceof SluiceError) || !error.code.startsWith("STORE_")) throw error
      onError?.(error, request)
      return denied(request, outageDenial())
    }
  }
}
