import { type Policies, type Policy, SluiceError } from "sluice"
import { factories } from "../config/read-policy.js"
import { namedPolicies } from "../engine.js"

type Json = Readonly<Record<string, unknown>>

/** Reads the policies of a rule, and checks that each replaces one of the limiter's with the same algorithm. */
export function rulePolicies(limiter: string, own: Policies, value: Json): Policies {
  const read = typeof value["algorithm"] === "string" ? readPolicy(value) : readNamed(value)
  const known = namedPolicies(own)
  for (const [name, policy] of namedPolicies(read)) {
    const before = known.get(name)
    if (before === undefined) {
      const names = [...known.keys()].join(", ")
      throw invalid(
        `limiter ${JSON.stringify(limiter)} has no policy ${JSON.stringify(name)}; its policies are ${names}`,
      )
    }
    if (before.algorithm === policy.algorithm) continue
    throw invalid(
      `a rule cannot change the algorithm: policy ${JSON.stringify(name)} is a ${before.algorithm}, got a ${policy.algorithm}, which would start with empty state`,
    )
  }
  return read
}

function readNamed(value: Json): Readonly<Record<string, Policy>> {
  return Object.fromEntries(
    Object.entries(value).map(([name, policy]) => {
      if (typeof policy === "object" && policy !== null) return [name, readPolicy(policy as Json)]
      throw invalid(
        `policy needs an algorithm, or names with a policy each; ${JSON.stringify(name)} is neither`,
      )
    }),
  )
}

function readPolicy({ algorithm, ...options }: Json): Policy {
  if (typeof algorithm === "string" && Object.hasOwn(factories, algorithm)) {
    return factories[algorithm as Policy["algorithm"]](options)
  }
  throw invalid(`algorithm must be one of ${Object.keys(factories).join(", ")}`)
}

function invalid(message: string): SluiceError {
  return new SluiceError("INVALID_POLICY", message)
}
