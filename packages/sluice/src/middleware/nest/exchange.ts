import type { IncomingMessage, ServerResponse } from "node:http"
import type { Denial } from "../../http/denial.js"
import type { HeaderFields } from "../../http/headers.js"
import type { HttpRequest } from "../../http/request.js"
import { NodeRequest, send } from "../node.js"
import type { HttpExchange } from "./options.js"

/** The part of Fastify's reply that is used here. */
interface Reply {
  readonly raw: ServerResponse
  code(status: number): Reply
  headers(fields: Readonly<HeaderFields>): Reply
  send(body: Buffer): Reply
}

/** The request as `sluice/http` sees it, on Express and on Fastify. */
export function httpRequestOf({ req, res }: HttpExchange): HttpRequest {
  const request = "raw" in req ? req.raw : req
  return new NodeRequest(request as IncomingMessage, nodeResponse(res))
}

/** The Node response inside the platform's response. */
export function nodeResponse(res: object): ServerResponse {
  return isReply(res) ? res.raw : (res as ServerResponse)
}

export function setHeaders(res: object, headers: Readonly<HeaderFields>): void {
  if (isReply(res)) res.headers(headers)
  else for (const [name, value] of Object.entries(headers)) (res as ServerResponse).setHeader(name, value)
}

export function sendDenial(res: object, denial: Denial): void {
  // Send bytes: Fastify adds a charset to the type of a string, and problem+json has none.
  if (isReply(res)) res.code(denial.status).headers(denial.headers).send(Buffer.from(denial.body))
  else send(res as ServerResponse, denial)
}

function isReply(res: object): res is Reply {
  return "raw" in res
}
