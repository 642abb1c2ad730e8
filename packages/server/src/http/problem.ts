import { STATUS_CODES } from "node:http"
import type { FastifyReply } from "fastify"
import type { Decision, ErrorCode } from "sluice"
import type { HeaderFields, Problem } from "sluice/http"

/** The body of every response that is no success: problem details of RFC 9457. */
export interface ProblemBody extends Partial<Problem> {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  /** The code of the library's error, if there was one. */
  readonly code?: ErrorCode
  /** The denial, if the problem is one. */
  readonly decision?: Decision
}

/** An error that a route throws to answer with a problem. */
export class HttpProblem extends Error {
  override readonly name = "HttpProblem"
  readonly body: ProblemBody
  readonly headers: Readonly<HeaderFields>

  constructor(
    status: number,
    detail: string,
    more: { readonly headers?: Readonly<HeaderFields>; readonly code?: ErrorCode } = {},
  ) {
    super(detail)
    this.body = problemBody(status, detail, more.code)
    this.headers = more.headers ?? {}
  }
}

export function problemBody(status: number, detail: string, code?: ErrorCode): ProblemBody {
  const title = STATUS_CODES[status] ?? "Client Closed Request"
  return { type: "about:blank", title, status, detail, ...(code !== undefined && { code }) }
}

/** The name of no limiter. It does not list the others, because every caller may see this. */
export function unknownLimiter(name: string): HttpProblem {
  return new HttpProblem(404, `no limiter is called ${JSON.stringify(name.slice(0, 80))}`)
}

/** Nothing was charged, so the caller can repeat the request elsewhere. */
export function shuttingDown(): HttpProblem {
  const detail = "this server is shutting down, and nothing was charged; send the request again"
  return new HttpProblem(503, detail, { code: "STORE_REFUSED", headers: { "Retry-After": "1" } })
}

export function sendProblem(
  reply: FastifyReply,
  body: ProblemBody,
  headers: Readonly<HeaderFields> = {},
): void {
  reply.code(body.status).headers(headers).header("Cache-Control", "no-store")
  reply.type("application/problem+json").send(body)
}
