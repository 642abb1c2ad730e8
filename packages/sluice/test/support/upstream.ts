import { once } from "node:events"
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly socket: Socket
  /** By `performance.now()`. */
  readonly at: number
}

/** A response: status, headers, and a body or a function that writes one. */
export interface Reply {
  readonly status?: number
  readonly headers?: Record<string, string | number>
  readonly body?: string | ((response: ServerResponse) => void)
}

export interface Upstream {
  readonly url: string
  readonly host: string
  readonly requests: readonly Received[]
  stop(): Promise<void>
}

/** A real HTTP server on loopback with these replies. It repeats the last one. */
export async function startUpstream(
  ...replies: readonly (Reply | ((request: Received) => Reply))[]
): Promise<Upstream> {
  const requests: Received[] = []
  const sockets = new Set<Socket>()
  const server = createServer(async (incoming, response) => {
    let body = ""
    for await (const chunk of incoming) body += chunk
    const { method = "", url: path = "", headers, socket } = incoming
    const received = { method, path, headers, body, socket, at: performance.now() }
    requests.push(received)
    const reply = replies[Math.min(requests.length, replies.length) - 1] ?? {}
    const {
      status = 200,
      headers: fields = {},
      body: text = "",
    } = typeof reply === "function" ? reply(received) : reply
    response.writeHead(status, fields)
    if (typeof text === "function") text(response)
    else response.end(text)
  })
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${host}/`,
    host,
    requests,
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, "close")
    },
  }
}
