import type { FastifyReply, FastifyRequest, HTTPMethods } from "fastify"

/** A JSON schema. */
export type Schema = Readonly<Record<string, unknown>>

/** A route as the OpenAPI document describes it. */
export interface Operation {
  readonly method: HTTPMethods | HTTPMethods[]
  /** With parameters as in `/v1/limiters/:limiter`. */
  readonly url: string
  readonly summary: string
  /** Only operators may call it. */
  readonly isAdmin?: boolean
  readonly query?: Schema
  readonly body?: Schema
  /** The largest body in bytes. */
  readonly bodyLimit?: number
  /** Takes any body without reading it, because a proxy forwards the request of a client. */
  readonly ignoresBody?: boolean
  /** The reply to a successful call. Without a schema it has no body, or one that is not JSON. */
  readonly success: { readonly status: number; readonly description: string; readonly schema?: Schema }
  /** Statuses of failures that do not follow from the rest of the route. */
  readonly problems?: readonly number[]
}

export interface Route extends Operation {
  handler(request: FastifyRequest, reply: FastifyReply): unknown
}

/** The limiter in the URL. */
export function limiterName(request: FastifyRequest): string {
  return (request.params as { limiter: string }).limiter
}
