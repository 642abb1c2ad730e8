import { createLimiter } from "../create-limiter.js"
import type { Limiter } from "../limiter.js"
import type { Policies } from "../policies.js"
import type { Policy } from "../policy.js"
import { invalidOption } from "./invalid-option.js"
import type { PerRequest, RateLimitOptions } from "./options.js"

/** The limiter in the options, or a new one from their policy, store, name and outage. */
export function limiterOf<R>(options: RateLimitOptions<R>): PerRequest<Limiter, R> {
  const { limiter, policy, store, name, outage } = options
  if (limiter !== undefined) {
    if (store === undefined && name === undefined && outage === undefined)
      return limiter as PerRequest<Limiter, R>
    throw invalidOption("a limiter has its own store, name and outage. Set them in createLimiter")
  }
  if (policy === undefined) {
    throw invalidOption(
      'rateLimit needs a policy, such as fixedWindow({ limit: 100, window: "1m" }), or a limiter',
    )
  }
  if (typeof policy !== "function") {
    return createLimiter({ policy, store, name: name ?? nameOf(policy), outage })
  }
  if (name === undefined) {
    throw invalidOption(
      "a policy that depends on the request needs a name, which separates its counters from others",
    )
  }
  const missing = () => {
    throw invalidOption("policy returned no policy for this request")
  }
  // Each call passes the policy of its request, so this function runs only if that policy is missing.
  return createLimiter<Policies>({ policy: missing, store, name, outage })
}

/** A name from the values of policies. Different policies have different names, so they never share counters. */
export function nameOf(policy: Policies): string {
  if (isPolicy(policy)) return valuesOf(policy)
  const entries = Object.entries(policy).sort(([a], [b]) => (a < b ? -1 : 1))
  return entries.map(([name, each]) => `${JSON.stringify(name)}=${valuesOf(each)}`).join(",")
}

function isPolicy(policy: Policies): policy is Policy {
  return typeof policy.algorithm === "string"
}

function valuesOf(policy: Policy): string {
  const { algorithm, ...parameters } = policy
  const sorted = Object.entries(parameters).sort(([a], [b]) => (a < b ? -1 : 1))
  return [algorithm, ...sorted.map(([name, value]) => `${name}-${value}`)].join("-")
}
