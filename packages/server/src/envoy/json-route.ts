import type { FastifyInstance } from "fastify"
import { SluiceError } from "sluice"
import type { ServerContext } from "../context.js"
import { problemBody, sendProblem } from "../http/problem.js"
import { messageForCaller } from "../store-errors.js"
import { InvalidRequest, type RateLimitResponse } from "./messages.js"
import { readRequest } from "./read-json.js"
import { shouldRateLimit } from "./should-rate-limit.js"

const LARGEST_BODY = 65_536

/**
 * A Fastify plugin with `POST /json`, which is Envoy's rate limit protocol as JSON. It answers 200, or 429 if a limit is over. As Envoy's own
 * server, it reads a body of any type as JSON. From a web page it takes only JSON: a page can send other types to any site unasked.
 */
export const envoyJson = (context: ServerContext) => async (app: FastifyInstance) => {
  app.addHook("onRequest", (request, reply, done) => {
    const { headers } = request.raw
    if (/^application\/json\b/i.test(headers["content-type"] ?? "")) return done()
    if (headers.origin !== undefined)
      return sendProblem(reply, problemBody(415, "a web page must send Content-Type: application/json"))
    headers["content-type"] = "application/json"
    done()
  })
  app.post("/json", { bodyLimit: LARGEST_BODY }, async ({ body }, reply) => {
    try {
      const response = await shouldRateLimit(context, readRequest(body))
      reply.header("Cache-Control", "no-store")
      return reply.code(response.overallCode === "OK" ? 200 : 429).send(jsonForm(response))
    } catch (error) {
      if (error instanceof InvalidRequest) return sendProblem(reply, problemBody(400, error.message))
      if (!(error instanceof SluiceError)) throw error
      // Envoy's own server has no 503 here.
      context.logStoreError(error)
      return sendProblem(reply, problemBody(500, messageForCaller(error), error.code))
    }
  })
}

/** The JSON form of a response. Durations are texts, such as "13s". */
function jsonForm({ overallCode, statuses, responseHeadersToAdd }: RateLimitResponse) {
  return {
    overallCode,
    statuses: statuses.map(({ durationUntilReset, ...status }) =>
      durationUntilReset === undefined
        ? status
        : { ...status, durationUntilReset: `${durationUntilReset.seconds}s` },
    ),
    ...(responseHeadersToAdd.length > 0 && { responseHeadersToAdd }),
  }
}
