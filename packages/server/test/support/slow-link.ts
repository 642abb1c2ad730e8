import { connect, createServer, type Socket } from "node:net"
import { onTestFinished } from "vitest"
import { freePort } from "../../../sluice/test/support/server-process.js"

export interface SlowLink {
  readonly port: number
  readonly url: string
  /** HTTP requests that a server had taken the connection of, and that got no response. */
  readonly lost: number
}

/** A network between a client and a port of this machine. All that is sent arrives `latency` milliseconds later. */
export async function slowLink(to: number, latency: number): Promise<SlowLink> {
  let unanswered = 0
  const sockets = new Set<Socket>()
  const later = (call: () => void) => void setTimeout(call, latency)
  const join = (from: Socket, into: Socket, onData: (text: string) => void) => {
    from.on("data", (chunk: Buffer) => {
      onData(chunk.toString("latin1"))
      later(() => into.write(chunk))
    })
    from.on("end", () => later(() => into.end()))
    from.on("error", () => {})
    from.on("close", () => later(() => into.destroy()))
  }
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port: to, host: "127.0.0.1", allowHalfOpen: true })
    let isTaken = false
    let requests = 0
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.once("close", () => sockets.delete(socket))
    }
    upstream.once("connect", () => {
      isTaken = true
    })
    join(client, upstream, (text) => {
      requests += text.match(/^(GET|POST) \//gm)?.length ?? 0
    })
    join(upstream, client, (text) => {
      requests -= text.match(/^HTTP\/1\.1 /gm)?.length ?? 0
    })
    // What the client has sent meanwhile is lost, too.
    upstream.once("close", () =>
      setTimeout(() => {
        if (isTaken) unanswered += requests
      }, 2 * latency),
    )
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    get lost() {
      return unanswered
    },
  }
}
