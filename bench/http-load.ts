// Sends HTTP requests from a process of its own, so that the client takes no time from the server's event loop.
import autocannon from "autocannon"
import { serve } from "./worker.js"

export interface LoadRequest {
  readonly port: number
  readonly connections: number
  readonly ms: number
}

export interface LoadReply {
  readonly done: number
  readonly seconds: number
  /** Responses by status. */
  readonly passed: number
  readonly denied: number
  /** Other statuses, timeouts and broken connections. */
  readonly errors: number
  readonly p50: number
  readonly p99: number
}

serve<LoadRequest, LoadReply>(async ({ port, connections, ms }) => {
  let connected = 0
  const result = await autocannon({
    url: `http://127.0.0.1:${port}/`,
    connections,
    duration: ms / 1_000,
    // It ends only at a sample, and the default is one a second.
    sampleInt: 50,
    timeout: 5,
    // All connections come from one address: the header tells the users apart.
    setupClient(client) {
      connected += 1
      client.setHeaders({ "x-user": `user:${String(connected).padStart(11, "0")}` })
    },
  })
  const statuses = result.statusCodeStats as Record<string, { count: number } | undefined>
  const count = (status: string) => statuses[status]?.count ?? 0
  const [passed, denied] = [count("200"), count("429")]
  const total = Object.values(statuses).reduce((sum, each) => sum + (each?.count ?? 0), 0)
  return {
    done: total,
    seconds: result.duration,
    passed,
    denied,
    errors: total - passed - denied + result.errors + result.timeouts,
    p50: result.latency.p50,
    p99: result.latency.p99,
  }
})
