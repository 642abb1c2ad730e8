import type { FastifyRequest } from "fastify"
import type { Amount, Limiter, Policies } from "sluice"
import type { ServerContext } from "../context.js"
import { unknownLimiter } from "./problem.js"
import { limiterName, type Route } from "./route.js"
import { costSchema, keySchema, objectSchema, openObject } from "./schemas.js"

const inspection = {
  status: 200,
  description: "What is stored for the key, in numbers and words.",
  schema: openObject("An Inspection: key, policies, rule, mode, degraded."),
}
const keyOnly = objectSchema({ key: keySchema }, ["key"])

/** What operators do with single keys: refund, reset and inspect. */
export function keyRoutes({ engine, log }: ServerContext): Route[] {
  const find = (request: FastifyRequest): Limiter => {
    const name = limiterName(request)
    const limiter = engine.limiter(name)
    if (limiter === undefined) throw unknownLimiter(name)
    return limiter
  }

  return [
    {
      method: "POST",
      url: "/v1/limiters/:limiter/refund",
      summary: "Gives spent units back to a key.",
      isAdmin: true,
      body: objectSchema({ key: keySchema, cost: costSchema }, ["key", "cost"]),
      success: { status: 204, description: "Given back." },
      problems: [503],
      async handler(request, reply) {
        const { key, cost } = request.body as { key: string; cost: Amount<Policies> }
        const limiter = find(request)
        await limiter.refund(key, cost)
        log.info({ limiter: limiter.name }, "refunded a key")
        return reply.code(204).send()
      },
    },
    {
      method: "POST",
      url: "/v1/limiters/:limiter/reset",
      summary: "Makes a key like new.",
      isAdmin: true,
      body: keyOnly,
      success: { status: 204, description: "Reset." },
      problems: [503],
      async handler(request, reply) {
        const limiter = find(request)
        await limiter.reset((request.body as { key: string }).key)
        log.info({ limiter: limiter.name }, "reset a key")
        return reply.code(204).send()
      },
    },
    {
      method: "POST",
      url: "/v1/limiters/:limiter/inspect",
      summary: "Shows what is stored for a key.",
      isAdmin: true,
      body: keyOnly,
      success: inspection,
      problems: [503],
      handler: (request) => find(request).inspect((request.body as { key: string }).key),
    },
    {
      method: "GET",
      url: "/v1/limiters/:limiter/inspect",
      summary: "Shows what is stored for a key.",
      isAdmin: true,
      query: keyOnly,
      success: inspection,
      problems: [503],
      handler: (request) => find(request).inspect((request.query as { key: string }).key),
    },
  ]
}
