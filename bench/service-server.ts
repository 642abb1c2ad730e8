// The rate limit server in a process of its own, whole or with limiters that decide nothing, under test by the service cases.
import type { Limiter } from "sluice"
import { serve } from "./worker.js"

export interface ServiceSubject {
  readonly protocol: "http" | "grpc"
  /** A stub answers each call with the same decision. Routes, schemas and headers are the real ones. */
  readonly limiter: "real" | "stub"
  /** The port of a Redis. Without one, the store is in memory. */
  readonly redisPort?: number
}

/** The port after a start; microseconds of processor time so far. */
export type ServiceReply = number

const config = `
listen: { http: "127.0.0.1:0", grpc: "127.0.0.1:0" }
log: { level: silent }
limiters:
  api:
    policy: { algorithm: tokenBucket, capacity: 1000000, refill: 1000000, every: 1s }
domain: bench
descriptors:
  - key: user
    policy: { algorithm: tokenBucket, capacity: 1000000, refill: 1000000, every: 1s }
`

// Frameworks check more during development.
process.env["NODE_ENV"] = "production"

serve<"cpu" | ServiceSubject, ServiceReply>(async (request) => {
  if (request === "cpu") {
    const { user, system } = process.cpuUsage()
    return user + system
  }
  const { readConfig, serve: start } = await import("@sluice/server")
  const { protocol, limiter, redisPort } = request
  const store = redisPort === undefined ? "memory" : `redis://127.0.0.1:${redisPort}`
  const server = await start(readConfig([{ name: "bench.yaml", text: `store: ${store}\n${config}` }]))
  if (limiter === "stub") await stubLimiters(server.context.engine)
  return server[protocol]?.port as number
})

/** Replaces the calls that decide. Everything else of a limiter stays, such as its name. */
async function stubLimiters(engine: { limiter(name: string): Limiter | undefined }): Promise<void> {
  const find = engine.limiter
  const stubs = new Map<string, Limiter>()
  for (const name of ["api", "bench/user"]) {
    const real = find(name) as Limiter
    const decision = await real.tryAcquire("stub")
    const decide = async () => decision
    const methods = { tryAcquire: { value: decide }, charge: { value: decide } }
    stubs.set(name, Object.create(real, methods) as Limiter)
  }
  engine.limiter = (name) => stubs.get(name)
}
