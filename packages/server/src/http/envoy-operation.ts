import type { Operation } from "./route.js"
import { openObject } from "./schemas.js"

/** `POST /json` for the OpenAPI document. The route itself is beside the rest of Envoy's protocol. */
export const envoyOperation: Operation = {
  method: "POST",
  url: "/json",
  summary: "Envoy's ShouldRateLimit as JSON. Over the limit, the same response comes with status 429.",
  body: openObject("A RateLimitRequest in proto3 JSON: domain, descriptors, hitsAddend."),
  success: {
    status: 200,
    description: "Within the limit.",
    schema: openObject("A RateLimitResponse in proto3 JSON: overallCode, statuses, responseHeadersToAdd."),
  },
  problems: [429, 500],
}
