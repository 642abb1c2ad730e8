import { type AddressInfo, Server as NetServer, type Socket } from "node:net"
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises"
import type { Address } from "../config/config.js"
import type { Listener, ServerContext } from "../context.js"
import { createApp } from "./create-app.js"

/**
 * Milliseconds for which responses tell clients to keep an idle connection. The server itself keeps it longer, by Fastify's default, because
 * load balancers do not read that header. A drain can then close idle connections after this time without cutting off a request.
 */
export const KEEP_ALIVE = 5_000

/** Starts the HTTP API. */
export async function listenHttp(context: ServerContext, address: Address): Promise<Listener> {
  let isClosing = false
  const { stopping, draining } = context
  const app = createApp(context, {
    listenHost: address.host,
    keepAlive: KEEP_ALIVE,
    // Not while the listener looks for the moment to close: clients would open new connections just then.
    isClosing: () => isClosing || (stopping.aborted && !draining.aborted),
  })
  await app.ready()
  const { server } = app
  const sockets = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(address.port, address.host, () => {
      server.off("error", reject)
      resolve()
    })
  })
  const { address: host, port } = server.address() as AddressInfo
  context.log.info({ host, port }, "HTTP listens")

  return {
    address: { host, port },
    async drain({ deadline, idle }) {
      await quietTurn(server, Math.min(PATIENCE, deadline))
      isClosing = true
      const ended = new AbortController()
      // Not http.Server.close, which closes idle connections at once. A request may be on its way there.
      const closed = new Promise<void>((resolve) => {
        NetServer.prototype.close.call(server, () => {
          ended.abort()
          resolve()
        })
      })
      const after = (ms: number, call: () => void) =>
        delay(ms, undefined, { signal: ended.signal }).then(call, () => {})
      const grace = after(Math.min(idle, deadline), async () => {
        // A request that has arrived makes its connection busy once it is read, which takes a turn of the event loop.
        await turn()
        server.closeIdleConnections()
        // Node does not count a connection as idle before its first request.
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
      })
      const last = after(deadline, () => {
        for (const socket of sockets) socket.destroy()
      })
      await Promise.all([closed, grace, last])
      // Now it stops the timer with which it looks for stale connections.
      server.close()
      await app.close()
    },
  }
}

/** Milliseconds of a turn of the event loop in which next to nothing happened, and the longest wait for one. */
const QUIET = 0.5
const PATIENCE = 100

/**
 * Waits for a turn of the event loop that brought no connection. To close a listener resets connections that the kernel has accepted and
 * Node has not, so the moment to close is right after such a turn.
 */
async function quietTurn(server: NetServer, patience: number): Promise<void> {
  let connections = 0
  const onConnection = () => {
    connections += 1
  }
  server.on("connection", onConnection)
  const start = performance.now()
  for (let now = start; now - start < patience; ) {
    const [before, known] = [now, connections]
    await turn()
    now = performance.now()
    if (connections === known && now - before < QUIET) break
  }
  server.off("connection", onConnection)
}
