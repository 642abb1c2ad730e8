import type { IncomingHttpHeaders } from "node:http"
import type { ExecutionContext } from "@nestjs/common"
import type { RateLimitOptions } from "../../http/options.js"

/** The fields that requests of Express and Fastify share. Write `(request: Request) => …` to use the type of your platform. */
export interface NestRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  /** The user, if your authentication guard sets it. */
  readonly user?: unknown
}

/** An HTTP request and its response, as objects of the platform. */
export interface HttpExchange {
  readonly req: object
  readonly res: object
}

/** The options of `RateLimitModule`. Without a policy, only routes with `@RateLimit` are limited. */
export interface NestOptions<R extends object = NestRequest> extends RateLimitOptions<R> {
  /** Finds the HTTP request of a context that is not HTTP, such as GraphQL. By default such contexts are not limited. */
  readonly getHttp?: ((context: ExecutionContext) => HttpExchange | undefined) | undefined
}
