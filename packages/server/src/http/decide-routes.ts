import type { FastifyReply } from "fastify"
import type { Amount, Cost, Decision, Duration, Limiter, Policies } from "sluice"
import type { Responder } from "sluice/http"
import type { ServerContext } from "../context.js"
import { sendDecision } from "./decision-reply.js"
import { longPoll } from "./long-poll.js"
import { shuttingDown, unknownLimiter } from "./problem.js"
import { limiterName, type Route } from "./route.js"
import { costSchema, decisionSchema, durationSchema, keySchema, objectSchema } from "./schemas.js"

interface AcquireBody {
  readonly key: string
  readonly cost?: Cost<Policies>
  readonly timeout?: Duration
}

/** acquire, peek and charge. */
export function decideRoutes({ engine, draining }: ServerContext, responder: Responder): Route[] {
  const find = (name: string): Limiter => {
    const limiter = engine.limiter(name)
    if (limiter === undefined) throw unknownLimiter(name)
    return limiter
  }

  const acquire = (
    limiter: Limiter,
    { key, cost, timeout }: AcquireBody,
    reply: FastifyReply,
  ): Promise<Decision> => {
    // Without options the limiter takes its fast path.
    const now = () => (cost === undefined ? limiter.tryAcquire(key) : limiter.tryAcquire(key, { cost }))
    if (timeout === undefined || timeout === 0) return now()
    if (draining.aborted) return now().then(allowedOrElsewhere)
    return longPoll(reply, draining, (signal) => limiter.tryAcquire(key, { cost, timeout, signal }))
  }

  return [
    {
      method: "POST",
      url: "/v1/limiters/:limiter/acquire",
      summary: "Spends the cost if every policy has room. With a timeout, it waits that long for its turn.",
      body: objectSchema({ key: keySchema, cost: costSchema, timeout: durationSchema }, ["key"]),
      success: {
        status: 200,
        description: "The request passes, and the cost is spent.",
        schema: decisionSchema,
      },
      problems: [429, 503],
      async handler(request, reply) {
        const name = limiterName(request)
        const decision = await acquire(find(name), request.body as AcquireBody, reply)
        sendDecision(reply, responder, decision, name)
        return reply
      },
    },
    {
      method: "POST",
      url: "/v1/limiters/:limiter/peek",
      summary: "Decides as acquire would, and spends nothing.",
      body: objectSchema({ key: keySchema, cost: costSchema }, ["key"]),
      success: { status: 200, description: "The decision, allowed or not.", schema: decisionSchema },
      problems: [503],
      async handler(request, reply) {
        const name = limiterName(request)
        const { key, cost } = request.body as AcquireBody
        const decision = await find(name).peek(key, cost === undefined ? {} : { cost })
        return reply.headers(responder.headers(decision, name)).send(decision)
      },
    },
    {
      method: "POST",
      url: "/v1/limiters/:limiter/charge",
      summary: "Spends a cost that was already used, whether there is room or not. The rest becomes debt.",
      body: objectSchema({ key: keySchema, cost: costSchema }, ["key", "cost"]),
      success: {
        status: 200,
        description: "Charged. `allowed` says whether there was room.",
        schema: decisionSchema,
      },
      problems: [503],
      async handler(request, reply) {
        const name = limiterName(request)
        const { key, cost } = request.body as { key: string; cost: Amount<Policies> }
        const decision = await find(name).charge(key, cost)
        return reply.headers(responder.headers(decision, name)).send(decision)
      },
    },
  ]
}

/** A server that drains lets nobody wait. Another server can. */
function allowedOrElsewhere(decision: Decision): Decision {
  if (decision.allowed) return decision
  throw shuttingDown()
}
