import { setTimeout as delay } from "node:timers/promises"
import type { FastifyReply } from "fastify"
import type { ServerContext } from "../context.js"
import { HttpProblem, shuttingDown } from "./problem.js"
import type { Route } from "./route.js"

/** How many milliseconds the store has to answer before the server counts as not ready. */
const PATIENCE = 1_000

/** Health, readiness and metrics. */
export function healthRoutes({ engine, stopping, metrics, metricsText }: ServerContext): Route[] {
  const ok = (reply: FastifyReply) =>
    reply.type("text/plain").header("Cache-Control", "no-store").send("OK\n")

  const health = (url: string): Route => ({
    method: ["GET", "HEAD"],
    url,
    summary: "Says whether the process is up. It fails while the server shuts down.",
    success: { status: 200, description: "The process is up." },
    problems: [503],
    async handler(_, reply) {
      if (stopping.aborted) throw shuttingDown()
      return ok(reply)
    },
  })

  return [
    health("/healthz"),
    // Envoy's own rate limit service has this name for it.
    health("/healthcheck"),
    {
      method: ["GET", "HEAD"],
      url: "/readyz",
      summary: "Says whether the store answers and the server takes requests.",
      success: { status: 200, description: "The server takes requests." },
      problems: [503],
      async handler(_, reply) {
        if (stopping.aborted) throw shuttingDown()
        const late = new AbortController()
        const isReady = await Promise.race([
          engine.ready(),
          delay(PATIENCE, false, { signal: late.signal, ref: false }).catch(() => false),
        ])
        late.abort()
        if (!isReady) throw new HttpProblem(503, "the store does not answer")
        return ok(reply)
      },
    },
    {
      method: "GET",
      url: "/metrics",
      summary: "Metrics in the text format of Prometheus.",
      success: { status: 200, description: "All metrics of the server." },
      handler: async (_, reply) => reply.type(metrics.contentType).send(await metricsText()),
    },
  ]
}
