import type { Decision } from "../decision.js"
import type { Limiter } from "../limiter.js"
import { shared } from "../shared.js"
import { type HeaderFields, type HeaderOptions, headerWriter } from "./headers.js"
import type { RateLimitOptions } from "./options.js"
import { type ByPolicy, type Quota, quotasOf } from "./quota.js"

/** Earlier decisions on a request. The headers list the policies of all limiters that saw it. */
const judged = shared(
  "judged-requests",
  () => new WeakMap<object, { readonly decision: Decision; readonly quotas: readonly Quota[] }>(),
)

/** The last decision on a request, in any framework: `decisionOf(req)`. */
export function decisionOf(request: object): Decision | undefined {
  return judged.get(request)?.decision
}

/** Requests that some limiter denied, or could not decide. */
const denied = shared("denied-requests", () => new WeakSet<object>())

/** Notes that a limiter answers the request itself. */
export function noteDenial(request: object): void {
  denied.add(request)
}

/** Whether a limiter answered the request itself, so that the response says nothing about the handler. */
export function wasDenied(request: object): boolean {
  return denied.has(request)
}

/** Puts a decision into headers, together with earlier decisions on the same request. */
type Describer = (
  request: object,
  limiter: Limiter,
  decision: Decision,
) => { readonly quotas: readonly Quota[]; readonly headers: HeaderFields }

/** Checks the option `headers` once. */
export function describerOf(options: RateLimitOptions<never>): Describer {
  const { headers = {}, limiter, name } = options
  const chosen: HeaderOptions =
    headers === false ? { form: [] } : typeof headers === "object" ? headers : { form: headers }
  const write = headerWriter(chosen)
  const { names, units } = chosen
  const namesOf = defaultNames()
  return (request, { name: limiterName }, decision) => {
    const given = name ?? (limiter !== undefined && limiterName !== "default" ? limiterName : undefined)
    const unnamed = decision.policies === undefined ? namesOf(decision, given) : undefined
    const own = quotasOf(decision, names === undefined ? unnamed : { ...unnamed, ...names }, units)
    const earlier = judged.get(request)?.quotas
    const quotas = earlier === undefined ? own : [...earlier, ...own]
    judged.set(request, { decision, quotas })
    return { quotas, headers: write(quotas, decision.retryAfter) }
  }
}

/**
 * A single policy is called `default`. Headers show the limiter's name instead, or one like `100-in-1m`. The last such name is
 * kept, because most limiters have one policy.
 */
function defaultNames(): (decision: Decision, given: string | undefined) => ByPolicy {
  let last = { limit: -1, window: -1, names: {} }
  return ({ limit, window }, given) => {
    if (given !== undefined) return { default: given }
    if (last.limit !== limit || last.window !== window) {
      last = { limit, window, names: { default: `${limit}-in-${durationText(window)}` } }
    }
    return last.names
  }
}

function durationText(ms: number): string {
  const units = [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1_000],
  ] as const
  const [unit, length] = units.find(([, length]) => ms % length === 0) ?? ["ms", 1]
  return `${ms / length}${unit}`
}
