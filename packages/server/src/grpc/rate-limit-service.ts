import {
  type handleUnaryCall,
  type Metadata,
  type StatusObject,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js"
import { SluiceError } from "sluice"
import type { ServerContext } from "../context.js"
import { InvalidRequest, type RateLimitRequest, type RateLimitResponse } from "../envoy/messages.js"
import { shouldRateLimit } from "../envoy/should-rate-limit.js"
import { messageForCaller } from "../store-errors.js"

/** The methods of Envoy's rate limit protocol. */
export function rateLimitService(context: ServerContext): UntypedServiceImplementation {
  const ShouldRateLimit: handleUnaryCall<RateLimitRequest, RateLimitResponse> = ({ request }, callback) => {
    shouldRateLimit(context, request).then(
      (response) => callback(null, response),
      (error: unknown) => callback(statusOf(error, context)),
    )
  }
  return { ShouldRateLimit }
}

/** The gRPC status of an error. Envoy lets a request pass after an error, if `failure_mode_deny` is not set. */
function statusOf(
  error: unknown,
  { log, logStoreError }: ServerContext,
): Partial<StatusObject> & { metadata?: Metadata } {
  if (error instanceof InvalidRequest) return { code: status.INVALID_ARGUMENT, details: error.message }
  if (error instanceof SluiceError && !error.code.startsWith("INVALID_")) {
    logStoreError(error)
    return { code: status.UNAVAILABLE, details: `${error.code}: ${messageForCaller(error)}` }
  }
  log.error({ err: error }, "a gRPC request failed")
  return {
    code: status.INTERNAL,
    details: "the server failed in a way that it should not; its log says more",
  }
}
