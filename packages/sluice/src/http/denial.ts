import type { Decision } from "../decision.js"
import type { HeaderFields } from "./headers.js"
import type { Quota } from "./quota.js"

/** A response in place of the handler's. */
export interface Denial {
  readonly status: number
  readonly headers: Readonly<HeaderFields>
  readonly body: string
  /** The decision. Undefined if the store failed under `then: "throw"`. */
  readonly decision: Decision | undefined
}

/** The parts of a denial that `onDenied` can replace. An object as the body is sent as JSON. */
export interface CustomDenial {
  readonly status?: number | undefined
  readonly headers?: Readonly<HeaderFields> | undefined
  readonly body?: string | object | undefined
}

/** The body of a denial: problem details of RFC 9457, with a registered type. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  /** The public names of the policies that deny. */
  readonly "violated-policies": readonly string[]
}

const types = "https://iana.org/assignments/http-problem-types"

/** Describes a denial: status 429, or 503 when the limiter decided without its store. */
export function quotaProblem({ degraded }: Decision, quotas: readonly Quota[]): Problem {
  const violated = quotas.filter(({ allowed }) => !allowed).map(({ name }) => name)
  return degraded ? reducedCapacity(violated) : problem(429, "quota-exceeded", "Quota Exceeded", violated)
}

/** Describes a request that could not be decided, because the store failed. */
export function outageProblem(): Problem {
  return reducedCapacity([])
}

/** The header for {@link outageProblem}. Nobody knows how long an outage lasts, so clients try again soon. */
export const outageHeaders: Readonly<HeaderFields> = { "Retry-After": "1" }

/** Denies a request over its quota. */
export function quotaDenial(decision: Decision, quotas: readonly Quota[], headers: HeaderFields): Denial {
  return denialOf(quotaProblem(decision, quotas), headers, decision)
}

/** Denies a request that could not be decided, because the store failed. */
export function outageDenial(): Denial {
  return denialOf(outageProblem(), outageHeaders, undefined)
}

/** The response to a client that has disconnected. It only appears in logs: 499 is the status that nginx logs. */
export function disconnected(): Denial {
  return { status: 499, headers: {}, body: "", decision: undefined }
}

/** Replaces parts of a denial with the result of `onDenied`. */
export function customised(denial: Denial, custom: CustomDenial | undefined): Denial {
  const { status = denial.status, body, headers: own = {} } = custom ?? {}
  const headers = { ...denial.headers }
  if (body !== undefined) {
    headers["Content-Type"] = typeof body === "string" ? "text/plain; charset=utf-8" : "application/json"
  }
  for (const [name, value] of Object.entries(own)) {
    const same = Object.keys(headers).find((known) => known.toLowerCase() === name.toLowerCase())
    headers[same ?? name] = value
  }
  const text = typeof body === "string" ? body : JSON.stringify(body)
  return { status, headers, body: text ?? denial.body, decision: denial.decision }
}

function reducedCapacity(violated: readonly string[]): Problem {
  return problem(503, "temporary-reduced-capacity", "Temporary Reduced Capacity", violated)
}

function problem(status: number, type: string, title: string, violated: readonly string[]): Problem {
  return { type: `${types}#${type}`, title, status, "violated-policies": violated }
}

function denialOf(body: Problem, headers: Readonly<HeaderFields>, decision: Decision | undefined): Denial {
  return {
    status: body.status,
    // RFC 6585 forbids caches to store a 429.
    headers: { ...headers, "Content-Type": "application/problem+json", "Cache-Control": "no-store" },
    body: JSON.stringify(body),
    decision,
  }
}
