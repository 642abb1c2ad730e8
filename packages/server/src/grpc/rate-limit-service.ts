import {
  type handleUnaryCall,
  type Metadata,
  type StatusObject,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js"
import type { Logger } from "pino"
import { SluiceError } from "sluice"
import type { ServerContext } from "../context.js"
import { InvalidRequest, type RateLimitRequest, type RateLimitResponse } from "../envoy/messages.js"
import { shouldRateLimit } from "../envoy/should-rate-limit.js"

/** The methods of Envoy's rate limit protocol. */
export function rateLimitService(context: ServerContext): UntypedServiceImplementation {
  const ShouldRateLimit: handleUnaryCall<RateLimitRequest, RateLimitResponse> = ({ request }, callback) => {
    shouldRateLimit(context, request).then(
      (response) => callback(null, response),
      (error: unknown) => callback(statusOf(error, context.log)),
    )
  }
  return { ShouldRateLimit }
}

/** The gRPC status of an error. Envoy lets a request pass after an error, if `failure_mode_deny` is not set. */
function statusOf(error: unknown, log: Logger): Partial<StatusObject> & { metadata?: Metadata } {
  if (error instanceof InvalidRequest) return { code: status.INVALID_ARGUMENT, details: error.message }
  if (error instanceof SluiceError && !error.code.startsWith("INVALID_")) {
    log.debug({ code: error.code }, error.message)
    return { code: status.UNAVAILABLE, details: `${error.code}: ${error.message}` }
  }
  log.error({ err: error }, "a gRPC request failed")
  return {
    code: status.INTERNAL,
    details: "the server failed in a way that it should not; its log says more",
  }
}
