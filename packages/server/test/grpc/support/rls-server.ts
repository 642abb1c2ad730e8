import { pino } from "pino"
import { Registry } from "prom-client"
import { readConfig } from "../../../src/config/read-config.js"
import type { ServerContext } from "../../../src/context.js"
import { createEngine } from "../../../src/engine.js"
import { listenGrpc } from "../../../src/grpc/grpc-server.js"
import { rlsClient } from "./rls-client.js"

export function configOf(text: string) {
  return readConfig([{ name: "test.yaml", text }], {})
}

/** What listeners share, without listeners. */
export function contextOf(text: string) {
  const engine = createEngine(configOf(text))
  const stopping = new AbortController()
  const context: ServerContext = {
    engine,
    log: pino({ level: "silent" }),
    logStoreError: () => {},
    metrics: new Registry(),
    metricsText: async () => "",
    topKeys: undefined as never,
    stopping: stopping.signal,
    draining: stopping.signal,
  }
  return { context, engine, stopping }
}

/** A gRPC server on a free port with this configuration, and a client of it. */
export async function startRls(text: string) {
  const { context, engine, stopping } = contextOf(text)
  const listener = await listenGrpc(context, { host: "127.0.0.1", port: 0 })
  const client = rlsClient(listener.address.port)
  return {
    ...client,
    context,
    engine,
    stopping,
    listener,
    port: listener.address.port,
    async stop() {
      client.close()
      stopping.abort()
      await listener.drain({ deadline: 1_000, idle: 0 })
      await engine.close()
    },
  }
}
