import type { FastifyReply } from "fastify"
import { HttpProblem, shuttingDown } from "./problem.js"

/** Runs a call that may wait. It ends, and charges nothing, when the client disconnects or the server drains. */
export async function longPoll<T>(
  reply: FastifyReply,
  draining: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController()
  // The response, not the request: a request closes as soon as its body has been read.
  const onClose = () => ending.abort(new HttpProblem(499, "the client has disconnected"))
  const onDrain = () => ending.abort(shuttingDown())
  reply.raw.once("close", onClose)
  draining.addEventListener("abort", onDrain)
  try {
    return await call(ending.signal)
  } finally {
    reply.raw.removeListener("close", onClose)
    draining.removeEventListener("abort", onDrain)
  }
}
