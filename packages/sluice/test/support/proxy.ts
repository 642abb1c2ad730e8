import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { RespPush, RespStream } from "./resp-stream.js"
import { ScriptCalls } from "./script-calls.js"

/**
 * A proxy between a client or a replica and a server. It counts the script calls, and can lose, delay or cut off traffic.
 */
export interface TcpProxy {
  readonly port: number
  /** The calls that were sent through it. */
  readonly calls: ScriptCalls
  /** From now on no reply of the server arrives. */
  swallowReplies(): void
  /** From now on existing connections are silently dead. New ones work. */
  swallowOldConnections(): void
  /** The number of script and function calls that were sent and not answered, on the open connections. */
  readonly callsInFlight: number
  /** From now on every reply arrives this many milliseconds later. */
  delay(ms: number): void
  /** From now on nothing arrives on either side until it is released. */
  hold(): void
  letGo(): void
  /** The next reply to a script call arrives only in part, and then the connection is reset. */
  resetMidReply(): void
  /** New connections go to another server. */
  turnTo(port: number): void
  /** Breaks every connection. New ones work again. */
  cut(): void
  close(): Promise<void>
}

export async function startProxy(server: number, calls = new ScriptCalls()): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let target = server
  let state: "passes" | "no replies" | "held" = "passes"
  const deaf = new WeakSet<Socket>()
  let held: (() => void)[] = []
  let breaking = false
  let delayMs = 0
  const inFlight = new Map<Socket, number>()

  const pass = (to: Socket, data: Buffer) => {
    if (state === "held") held.push(() => to.write(data))
    else if (!deaf.has(to)) to.write(data)
  }

  const listener = createServer((near) => {
    const far = connect(target, "127.0.0.1")
    const pair = [near, far]
    for (const socket of pair) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on("error", () => {})
      socket.on("close", () => {
        for (const each of pair) each.destroy()
        sockets.delete(socket)
        inFlight.delete(socket)
      })
    }
    const [requests, replies] = [new RespStream(), new RespStream()]
    const late: (() => void)[] = []
    const pending: { isScript: boolean; answer: ReturnType<ScriptCalls["note"]> }[] = []
    // The connection of a replica, which carries no requests and replies from then on.
    let copies = false
    near.on("data", (data) => {
      for (const request of copies ? [] : requests.take(data)) {
        if (Array.isArray(request) && request[0] === "PSYNC") copies = true
        const isScript = Array.isArray(request) && /^(eval|fcall)/i.test(String(request[0]))
        if (isScript) inFlight.set(near, (inFlight.get(near) ?? 0) + 1)
        pending.push({ isScript, answer: calls.note(request) })
      }
      pass(far, data)
    })
    far.on("data", (data) => {
      let answered = 0
      for (const reply of copies ? [] : replies.take(data)) {
        if (reply instanceof RespPush) continue
        const request = pending.shift()
        request?.answer(reply)
        if (request?.isScript) answered += 1
      }
      const arrive = () => {
        if (inFlight.has(near)) inFlight.set(near, (inFlight.get(near) ?? 0) - answered)
        if (state !== "no replies") pass(near, data)
      }
      if (breaking && answered > 0) {
        breaking = false
        near.write(data.subarray(0, Math.ceil(data.length / 2)), () => near.resetAndDestroy())
        return
      }
      if (delayMs === 0 && late.length === 0) return arrive()
      // Each timer lets the oldest reply arrive, so that a shorter delay does not change the order.
      late.push(arrive)
      setTimeout(() => late.shift()?.(), delayMs)
    })
  })
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve))

  const letGo = () => {
    state = "passes"
    for (const each of held.splice(0)) each()
  }
  const cut = () => {
    for (const socket of sockets) socket.destroy()
    state = "passes"
    held = []
  }
  return {
    port: (listener.address() as AddressInfo).port,
    calls,
    get callsInFlight() {
      return [...inFlight.values()].reduce((sum, each) => sum + each, 0)
    },
    delay(ms) {
      delayMs = ms
    },
    swallowReplies() {
      state = "no replies"
    },
    swallowOldConnections() {
      for (const socket of sockets) deaf.add(socket)
    },
    hold() {
      state = "held"
    },
    letGo,
    resetMidReply() {
      breaking = true
    },
    turnTo(port) {
      target = port
    },
    cut,
    async close() {
      cut()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}
