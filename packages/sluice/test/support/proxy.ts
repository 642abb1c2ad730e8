import { type AddressInfo, connect, createServer, type Socket } from "node:net"

/** Stands between a client and a server, and can lose what the server answers. */
export interface Proxy {
  readonly port: number
  /** From now on nothing the server says arrives. */
  swallowReplies(): void
  /** Breaks every connection; new ones work again. */
  cut(): void
  close(): Promise<void>
}

export async function startProxy(port: number): Promise<Proxy> {
  const sockets = new Set<Socket>()
  let swallowing = false
  const listener = createServer((near) => {
    const far = connect(port, "127.0.0.1")
    const pair = [near, far]
    for (const socket of pair) {
      sockets.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => {
        for (const each of pair) each.destroy()
        sockets.delete(socket)
      })
    }
    near.on("data", (data) => far.write(data))
    far.on("data", (data) => {
      if (!swallowing) near.write(data)
    })
  })
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve))
  const cut = () => {
    for (const socket of sockets) socket.destroy()
    swallowing = false
  }
  return {
    port: (listener.address() as AddressInfo).port,
    swallowReplies() {
      swallowing = true
    },
    cut,
    async close() {
      cut()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}
