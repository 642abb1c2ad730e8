import type { Decision } from "../decision.js"
import { outageHeaders, outageProblem, type Problem, quotaProblem } from "./denial.js"
import { type HeaderFields, type HeaderOptions, headerWriter } from "./headers.js"
import { quotasOf } from "./quota.js"

/** Puts decisions into HTTP responses, for servers that have no module here. */
export interface Responder {
  /** The headers of a response. `name` is what they call a single policy, for example the limiter's name. */
  headers(decision: Decision, name?: string): HeaderFields
  /** The problem of a denied request: status 429, or 503 when the limiter decided without its store. */
  problem(decision: Decision, name?: string): Problem
  /** The headers and the problem for a request that could not be decided, because the store failed. */
  outage(): { readonly headers: Readonly<HeaderFields>; readonly problem: Problem }
}

/** Makes a responder. It checks the options once, for many responses. */
export function createResponder(options: HeaderOptions = {}): Responder {
  const write = headerWriter(options)
  const { names, units } = options
  const describe = (decision: Decision, name: string | undefined) => {
    const isUnnamed = name !== undefined && decision.policies === undefined
    return quotasOf(decision, isUnnamed ? { [decision.policy]: name, ...names } : names, units)
  }
  return {
    headers: (decision, name) => write(describe(decision, name), decision.retryAfter),
    problem: (decision, name) => quotaProblem(decision, describe(decision, name)),
    outage: () => ({ headers: outageHeaders, problem: outageProblem() }),
  }
}
