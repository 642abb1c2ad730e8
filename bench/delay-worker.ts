// A TCP proxy that adds time to every round trip. It is a process of its own, so that it takes no time from the client's event loop.
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { serve } from "./worker.js"

export interface DelayRequest {
  readonly port: number
  /** Milliseconds that a request takes longer to arrive; replies pass at once. */
  readonly ms: number
}

/** The port to connect to. */
export type DelayReply = number

serve<DelayRequest, DelayReply>(
  ({ port, ms }) =>
    new Promise((resolve) => {
      const listener = createServer((near) => {
        const far = connect(port, "127.0.0.1")
        for (const [socket, other] of [
          [near, far],
          [far, near],
        ] as const) {
          socket.setNoDelay(true)
          socket.on("error", () => {})
          socket.on("close", () => other.destroy())
        }
        far.on("data", (data) => near.write(data))
        near.on("data", delayed(far, ms))
      })
      listener.listen(0, "127.0.0.1", () => resolve((listener.address() as AddressInfo).port))
    }),
)

/** Writes what it gets after a delay, in order. One timer serves everything that is under way. */
function delayed(to: Socket, ms: number): (data: Buffer) => void {
  const queue: { readonly data: Buffer; readonly dueAt: number }[] = []
  const flush = () => {
    const now = performance.now()
    while (queue[0] !== undefined && queue[0].dueAt <= now + 0.05) to.write(queue.shift()?.data as Buffer)
    if (queue[0] === undefined) return
    const left = queue[0].dueAt - now
    // Timers have a resolution of a millisecond. Below that, turns of the event loop are counted down.
    if (left > 1.2) setTimeout(flush, left - 1)
    else setImmediate(flush)
  }
  return (data) => {
    queue.push({ data, dueAt: performance.now() + ms })
    if (queue.length === 1) flush()
  }
}
