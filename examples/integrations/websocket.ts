// A WebSocket server that warns a client that sends too many messages, and then closes the connection.
import type { IncomingMessage } from "node:http"
import { createLimiter, fixedWindow, tokenBucket } from "sluice"
import { clientKey } from "sluice/http"
import { type RawData, WebSocket, WebSocketServer } from "ws"

const messages = createLimiter({
  name: "messages",
  policy: tokenBucket({ capacity: 5, refill: 1, every: "1s" }),
})
const warnings = createLimiter({ name: "warnings", policy: fixedWindow({ limit: 2, window: "1m" }) })

const addressOf = clientKey()

/** The key is the client's address, so a new connection does not reset the limit. */
function keyOf(request: IncomingMessage): string {
  const header = (name: string) => request.headers[name]?.toString()
  return addressOf(request, { address: request.socket.remoteAddress, header })
}

async function receive(socket: WebSocket, key: string, data: RawData): Promise<void> {
  // Messages that arrived before the connection was closed are dropped.
  if (socket.readyState !== WebSocket.OPEN) return
  const { allowed, retryAfter } = await messages.tryAcquire(key)
  if (allowed) {
    socket.send(`echo: ${data}`)
    return
  }
  const warning = await warnings.tryAcquire(key)
  if (warning.allowed) socket.send(JSON.stringify({ error: "too many messages", retryAfter }))
  else socket.close(1008, "too many messages")
}

export function serve(port: number): WebSocketServer {
  const server = new WebSocketServer({ host: "127.0.0.1", port, maxPayload: 65_536 })
  server.on("connection", (socket, request) => {
    const key = keyOf(request)
    let last = Promise.resolve()
    socket.on("error", () => socket.terminate())
    socket.on("message", (data) => {
      // Stop reading while a message is decided, so that a flood waits in the network and not in this process.
      socket.pause()
      last = last
        .then(() => receive(socket, key, data))
        .catch(() => socket.close(1011, "try again later"))
        .finally(() => socket.resume())
    })
  })
  return server
}
