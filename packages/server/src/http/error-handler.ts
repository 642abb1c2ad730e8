import type { FastifyError, FastifyReply, FastifyRequest } from "fastify"
import { SluiceError } from "sluice"
import type { HeaderFields, Responder } from "sluice/http"
import type { ServerContext } from "../context.js"
import { messageForCaller } from "../store-errors.js"
import { denialDetail } from "./decision-reply.js"
import { HttpProblem, type ProblemBody, problemBody, sendProblem } from "./problem.js"
import { validationDetail } from "./validation-detail.js"

type ErrorHandler = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void

/** Answers every error with a problem. Only an unexpected one is logged as an error. */
export function errorHandler({ log, logStoreError }: ServerContext, responder: Responder): ErrorHandler {
  return (error, request, reply) => {
    const { body, headers } = problemOf(error, responder)
    const route = request.routeOptions.url
    if (body.status === 500) log.error({ err: error, route }, "a request failed")
    else log.debug({ status: body.status, code: body.code, route }, body.detail)
    logStoreError(error)
    sendProblem(reply, body, headers)
  }
}

interface Answer {
  readonly body: ProblemBody
  readonly headers?: Readonly<HeaderFields>
}

/** The problem that an error is answered with. */
export function problemOf(error: FastifyError | SluiceError | HttpProblem, responder: Responder): Answer {
  if (error instanceof HttpProblem) return error
  if (error instanceof SluiceError) return ofLimiter(error, responder)
  if (error.validation !== undefined) return { body: problemBody(400, validationDetail(error)) }
  const { statusCode = 500 } = error
  if (statusCode >= 400 && statusCode < 500) return { body: problemBody(statusCode, clientMistake(error)) }
  return { body: problemBody(500, "the server failed in a way that it should not; its log says more") }
}

function ofLimiter(error: SluiceError, responder: Responder): Answer {
  const { code, message, decision } = error
  if (code.startsWith("INVALID_")) return { body: problemBody(400, message, code) }
  if (code.startsWith("STORE_") || decision === undefined) {
    const { headers, problem } = responder.outage()
    // A closed limiter belongs to a server that ends or reloads. It has charged nothing.
    const told = code.startsWith("STORE_") ? code : "STORE_REFUSED"
    return {
      headers,
      body: { ...problem, detail: messageForCaller(error), code: told, ...(decision && { decision }) },
    }
  }
  const problem = responder.problem(decision)
  return {
    headers: responder.headers(decision),
    body: { ...problem, detail: `${denialDetail(decision)} (${message})`, code, decision },
  }
}

/** Explains an error of the framework. Some of its own messages are unclear. */
function clientMistake({ code, message }: FastifyError): string {
  switch (code) {
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return "the body must be JSON; send Content-Type: application/json"
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
      return "the body is empty, but must be JSON"
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return "the body is too large"
    case "FST_ERR_BAD_URL":
      return "the URL is not valid"
    case "FST_ERR_MAX_PARAM_LENGTH":
      return "the name in the URL is too long"
    default:
      return message.slice(0, 200)
  }
}
