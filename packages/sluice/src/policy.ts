import { parametersOf } from "./algorithms/index.js"
import registry, { type Policy } from "./algorithms/registry.js"
import { shown } from "./errors.js"
import { invalidPolicy, isMade } from "./policy-fields.js"

export * from "./algorithms/registry.js"

/** Whether a value is meant as a single policy. In a record of policies, `algorithm` is not a string. */
export function looksLikePolicy(value: unknown): value is Policy {
  return (
    typeof value === "object" && value !== null && "algorithm" in value && typeof value.algorithm === "string"
  )
}

/** Returns a policy of a factory unchanged. Validates any other object, such as parsed JSON, by the same rules. */
export function checkPolicy(value: unknown): Policy {
  if (!looksLikePolicy(value)) throw invalidPolicy(`a policy is made by ${names()}; got ${shown(value)}`)
  if (isMade(value)) return value
  const { algorithm, ...options } = value
  if (!Object.hasOwn(registry, algorithm)) {
    throw invalidPolicy(`algorithm must be one of ${names()}, got ${shown(algorithm)}`)
  }
  return registry[algorithm].make(options as never)
}

function names(): string {
  return Object.keys(registry).join(", ")
}

/** The most that a policy ever grants at once. */
export function limitOf(policy: Policy): number {
  return "limit" in policy ? policy.limit : policy.capacity
}

/** The window of a policy in milliseconds. For a bucket, the time from empty to full, rounded up. */
export function windowOf(policy: Policy): number {
  if ("window" in policy) return policy.window
  return (parametersOf(policy, 1) as { readonly window: number }).window
}

/** Whether two policies are equal. */
export function samePolicy(a: Policy, b: Policy): boolean {
  if (a === b) return true
  const fields = Object.keys(a) as (keyof Policy)[]
  return fields.length === Object.keys(b).length && fields.every((field) => a[field] === b[field])
}
