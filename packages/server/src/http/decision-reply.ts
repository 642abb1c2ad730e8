import type { FastifyReply } from "fastify"
import type { Decision } from "sluice"
import type { Responder } from "sluice/http"
import { sendProblem } from "./problem.js"

/** Sends a decision: 200 with the decision and its headers, or the problem of a denial. */
export function sendDecision(
  reply: FastifyReply,
  responder: Responder,
  decision: Decision,
  limiter: string | undefined,
  body: object = decision,
): void {
  const headers = responder.headers(decision, limiter)
  if (decision.allowed) {
    reply.headers(headers).send(body)
    return
  }
  const problem = responder.problem(decision, limiter)
  sendProblem(reply, { ...problem, detail: denialDetail(decision), decision }, headers)
}

/** Why a request was denied, and what its caller can do. */
export function denialDetail({ policy, limit, retryAfter, source, degraded }: Decision): string {
  const canPass = Number.isFinite(retryAfter)
  const when = canPass ? `; retry in ${retryAfter} ms` : ""
  if (degraded) return `the store does not answer, and the limiter denies until it does${when}`
  if (source === "rule") return `a rule blocks this key${when}`
  if (canPass) return `policy ${policy} has no room for this cost${when}`
  return `the cost exceeds the most that policy ${policy} can grant, ${limit}; lower the cost`
}
