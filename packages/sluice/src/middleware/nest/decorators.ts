import { type CustomDecorator, SetMetadata } from "@nestjs/common"
import { checkOptions, type RateLimitOptions } from "../../http/options.js"
import type { NestRequest } from "./options.js"

/** The metadata key under which the decorators store the options of a controller or a route. */
export const ROUTE = "sluice:rate-limit"

/** The metadata: the options of the route, or `false` for no limit. */
export type RouteLimit = RateLimitOptions<object> | false

/**
 * Limits a controller or a route by its own options, in place of those for all routes.
 * Options that are left out are inherited, except those that belong to a replaced policy or limiter.
 */
export function RateLimit<R extends object = NestRequest>(options: RateLimitOptions<R>): CustomDecorator {
  // Check the options when the class is defined, not when the route is first called.
  checkOptions(options)
  return SetMetadata(ROUTE, options)
}

/** Leaves a controller or a route unlimited. */
export function SkipRateLimit(): CustomDecorator {
  return SetMetadata(ROUTE, false)
}
