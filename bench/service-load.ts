// Calls the rate limit server over HTTP or gRPC from a process of its own.
import { Client, credentials } from "@grpc/grpc-js"
import autocannon from "autocannon"
import { quantile } from "./statistics.js"
import { serve } from "./worker.js"

export interface ServiceLoad {
  readonly protocol: "http" | "grpc"
  readonly port: number
  /** Connections of HTTP, or calls in flight on four connections of gRPC. */
  readonly callers: number
  readonly ms: number
}

export interface ServiceLoadReply {
  /** Calls that were allowed. */
  readonly done: number
  readonly seconds: number
  /** Everything else. */
  readonly errors: number
  readonly p50: number
  readonly p99: number
}

serve<ServiceLoad, ServiceLoadReply>((load) => (load.protocol === "http" ? http(load) : grpc(load)))

async function http({ port, callers, ms }: ServiceLoad): Promise<ServiceLoadReply> {
  let connected = 0
  const result = await autocannon({
    url: `http://127.0.0.1:${port}/v1/limiters/api/acquire`,
    method: "POST",
    connections: callers,
    duration: ms / 1_000,
    // It ends only at a sample, and the default is one a second.
    sampleInt: 50,
    timeout: 10,
    setupClient(client) {
      connected += 1
      client.setHeadersAndBody(
        { "content-type": "application/json" },
        JSON.stringify({ key: `user:${connected}` }),
      )
    },
  })
  const statuses = result.statusCodeStats as Record<string, { count: number } | undefined>
  const total = Object.values(statuses).reduce((sum, each) => sum + (each?.count ?? 0), 0)
  const done = statuses["200"]?.count ?? 0
  return {
    done,
    seconds: result.duration,
    errors: total - done + result.errors + result.timeouts,
    p50: result.latency.p50,
    p99: result.latency.p99,
  }
}

const method = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
const channels = 4

async function grpc({ port, callers, ms }: ServiceLoad): Promise<ServiceLoadReply> {
  const clients = Array.from(
    { length: channels },
    () =>
      new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 }),
  )
  const latencies: number[] = []
  let errors = 0
  const asIs = (bytes: Buffer) => bytes
  const call = (client: Client, message: Buffer) =>
    new Promise<void>((resolve) => {
      client.makeUnaryRequest(method, asIs, asIs, message, (error, reply) => {
        if (error !== null || !isAllowed(reply)) errors += 1
        resolve()
      })
    })
  const start = performance.now()
  const work = async (_: unknown, i: number) => {
    const message = requestOf(`user:${i}`)
    for (let now = start; now - start < ms; ) {
      await call(clients[i % channels] as Client, message)
      const end = performance.now()
      latencies.push(end - now)
      now = end
    }
  }
  await Promise.all(Array.from({ length: callers }, work))
  const seconds = (performance.now() - start) / 1_000
  for (const client of clients) client.close()
  latencies.sort((a, b) => a - b)
  const [p50, p99] = [quantile(latencies, 0.5), quantile(latencies, 0.99)]
  return { done: latencies.length - errors, seconds, errors, p50, p99 }
}

/** A request with one descriptor. Messages are encoded here once, so that the client costs little. */
function requestOf(user: string): Buffer {
  const entry = Buffer.concat([field(1, "user"), field(2, user)])
  return Buffer.concat([field(1, "bench"), field(2, field(1, entry))])
}

/** A field of protobuf that is text or a message, with fewer than 128 bytes. */
function field(number: number, content: string | Buffer): Buffer {
  const bytes = Buffer.from(content as string)
  return Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes])
}

/** Field 1 is the overall code, and 1 is OK. */
function isAllowed(reply: Buffer | undefined): boolean {
  return reply?.[0] === 8 && reply[1] === 1
}
