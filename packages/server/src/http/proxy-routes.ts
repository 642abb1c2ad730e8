import { createHash } from "node:crypto"
import type { FastifyRequest } from "fastify"
import { clientKey, type Responder } from "sluice/http"
import type { ServerContext } from "../context.js"
import { denialDetail } from "./decision-reply.js"
import { sendProblem, unknownLimiter } from "./problem.js"
import { limiterName, type Route } from "./route.js"
import { objectSchema } from "./schemas.js"

interface ProxyQuery {
  readonly by?: string
  readonly cost?: string
}

const querySchema = objectSchema(
  {
    by: {
      type: "string",
      pattern: "^(address|header:[\\w!#$%&'*+.^`|~-]{1,64})$",
      description: '"address", or "header:" and the name of a header',
    },
    cost: { type: "string", pattern: "^[1-9]\\d{0,15}$", description: "an integer, 1 or more" },
  },
  [],
)

/** Endpoints that a proxy calls before it forwards a request of its client. */
export function proxyRoutes({ engine, log }: ServerContext, responder: Responder): Route[] {
  // The caller is a proxy, which appends its client's address. What stands further left is the client's own claim.
  const addressOf = clientKey({ trustProxy: 1, onWarning: (message) => log.warn(message) })

  const keyOf = (request: FastifyRequest, by: string): string => {
    if (by !== "address") {
      const name = by.slice("header:".length).toLowerCase()
      const value = headerOf(request, name)
      if (value !== undefined && value !== "") return `header:${name}:${hashOf(value)}`
    }
    const http = { address: request.socket.remoteAddress, header: (name: string) => headerOf(request, name) }
    return `address:${addressOf(request, http)}`
  }

  const route = (url: string, summary: string, denied: number | undefined): Route => ({
    method: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
    url,
    summary,
    query: querySchema,
    ignoresBody: true,
    success: { status: 204, description: "The request passes. The RateLimit headers describe the limit." },
    problems: [denied ?? 429, 503],
    async handler(request, reply) {
      const name = limiterName(request)
      const limiter = engine.limiter(name)
      if (limiter === undefined) throw unknownLimiter(name)
      const { by = "address", cost } = request.query as ProxyQuery
      const key = keyOf(request, by)
      const decision = await limiter.tryAcquire(key, cost === undefined ? {} : { cost: Number(cost) })
      const headers = responder.headers(decision, name)
      if (decision.allowed) {
        return reply.code(204).headers(headers).header("Cache-Control", "no-store").send()
      }
      const problem = responder.problem(decision, name)
      const status = denied ?? problem.status
      sendProblem(reply, { ...problem, status, detail: denialDetail(decision), decision }, headers)
      return reply
    },
  })

  return [
    // nginx turns every status but 2xx, 401 and 403 into a 500.
    route("/v1/nginx/:limiter", "For auth_request of nginx: 2xx, or 403 for a denial.", 403),
    route(
      "/v1/forward-auth/:limiter",
      "For forward_auth of Caddy and ForwardAuth of Traefik: 2xx or 429.",
      undefined,
    ),
  ]
}

/** Headers are often secrets, such as API keys. 128 bits of SHA-256 tell them apart, and do not give them away. */
function hashOf(value: string): string {
  return createHash("sha256").update(value).digest("hex").slice(0, 32)
}

/** A header. Node joins several lines of it by commas, except for a few names such as set-cookie. */
function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(", ") : value
}
