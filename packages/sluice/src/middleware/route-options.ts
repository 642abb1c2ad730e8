import type { RateLimitOptions } from "../http/options.js"

/** Merges the options of a route with those for all routes. A route with its own policy or limiter does not inherit the name. */
export function routeOptions<R>(all: RateLimitOptions<R>, own: RateLimitOptions<R>): RateLimitOptions<R> {
  if (own.policy === undefined && own.limiter === undefined) return { ...all, ...own }
  const { policy, limiter, name, ...common } = all
  if (own.limiter === undefined) return { ...common, ...own }
  const { store, outage, ...rest } = common
  return { ...rest, ...own }
}
