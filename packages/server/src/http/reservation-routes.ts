import type { Amount, Cost, Duration, Pending, Policies } from "sluice"
import type { Responder } from "sluice/http"
import type { ServerContext } from "../context.js"
import { sendDecision } from "./decision-reply.js"
import { unknownLimiter } from "./problem.js"
import { limiterName, type Route } from "./route.js"
import {
  actualCostSchema,
  costSchema,
  decisionSchema,
  durationSchema,
  keySchema,
  objectSchema,
  settledSchema,
  textSchema,
} from "./schemas.js"

interface ReserveBody {
  readonly key: string
  readonly cost?: Cost<Policies>
  readonly ttl?: Duration
}

interface SettleBody {
  readonly key: string
  readonly id: string
  readonly cost: Amount<Policies>
}

const idSchema = textSchema(8_192)
const settled = { status: 200, description: "Whether this call settled it.", schema: settledSchema }

/** reserve, settle and cancel. */
export function reservationRoutes({ engine }: ServerContext, responder: Responder): Route[] {
  const pending = (name: string, key: string, id: string): Pending => {
    const limiter = engine.limiter(name)
    if (limiter === undefined) throw unknownLimiter(name)
    return limiter.reservation(key, id)
  }

  return [
    {
      method: "POST",
      url: "/v1/limiters/:limiter/reserve",
      summary: "Spends an estimate. Settle it when the true cost is known.",
      body: objectSchema({ key: keySchema, cost: costSchema, ttl: durationSchema }, ["key"]),
      success: {
        status: 200,
        description: "The estimate is spent. The id settles it.",
        schema: {
          type: "object",
          properties: { id: { type: "string" }, decision: decisionSchema },
          required: ["id", "decision"],
        },
      },
      problems: [429, 503],
      async handler(request, reply) {
        const name = limiterName(request)
        const limiter = engine.limiter(name)
        if (limiter === undefined) throw unknownLimiter(name)
        const { key, ...options } = request.body as ReserveBody
        const { id, decision } = await limiter.reserve(key, options)
        sendDecision(reply, responder, decision, name, { id, decision })
        return reply
      },
    },
    {
      method: "POST",
      url: "/v1/limiters/:limiter/settle",
      summary: "States the actual cost of a reservation. The difference is given back or charged.",
      body: objectSchema({ key: keySchema, id: idSchema, cost: actualCostSchema }, ["key", "id", "cost"]),
      success: settled,
      problems: [503],
      async handler(request) {
        const { key, id, cost } = request.body as SettleBody
        return { settled: await pending(limiterName(request), key, id).settle(cost) }
      },
    },
    {
      method: "POST",
      url: "/v1/limiters/:limiter/cancel",
      summary: "Gives a reservation back.",
      body: objectSchema({ key: keySchema, id: idSchema }, ["key", "id"]),
      success: settled,
      problems: [503],
      async handler(request) {
        const { key, id } = request.body as SettleBody
        return { settled: await pending(limiterName(request), key, id).cancel() }
      },
    },
  ]
}
