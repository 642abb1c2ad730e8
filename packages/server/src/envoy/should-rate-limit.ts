import type { ServerContext } from "../context.js"
import { decideTargets, isDenied } from "./decide-targets.js"
import { descriptorCounter } from "./descriptor-metrics.js"
import { checkRequest, type RateLimitRequest, type RateLimitResponse } from "./messages.js"
import { headersOf, statusOf } from "./statuses.js"
import { targetsOf } from "./targets.js"

/**
 * Answers a request of Envoy's rate limit protocol, over gRPC or as JSON. Rejects with an `InvalidRequest` if the request
 * breaks the rules, and with the library's error if the store fails and the outage policy is `throw`.
 */
export async function shouldRateLimit(
  { engine, metrics }: Pick<ServerContext, "engine" | "metrics">,
  request: RateLimitRequest,
): Promise<RateLimitResponse> {
  checkRequest(request)
  const domain = engine.domain(request.domain)
  if (domain === undefined) {
    return {
      overallCode: "OK",
      statuses: request.descriptors.map(() => ({ code: "OK" })),
      responseHeadersToAdd: [],
    }
  }
  const targets = targetsOf(engine, domain, request)
  const outcomes = await decideTargets(targets)
  const count = descriptorCounter(metrics)
  const statuses = targets.map((target, i) => {
    const status = statusOf(target, outcomes[i])
    const isShadow = status.code === "OK" && outcomes[i]?.isOver === true
    if (target !== undefined) count(domain.name, target.label, isShadow ? "SHADOW_OVER_LIMIT" : status.code)
    return status
  })
  const overallCode = isDenied(targets, outcomes) ? "OVER_LIMIT" : "OK"
  return {
    overallCode,
    statuses,
    responseHeadersToAdd: headersOf(statuses, engine.config.envoy.responseHeaders),
  }
}
