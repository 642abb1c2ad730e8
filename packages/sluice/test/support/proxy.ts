import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { RespPush, RespStream } from "./resp-stream.js"
import { ScriptCalls } from "./script-calls.js"

/**
 * Stands between a client, or a replica, and a server, counts the script calls, and can lose, hold back or break off what
 * is said.
 */
export interface TcpProxy {
  readonly port: number
  /** What was sent through it. */
  readonly calls: ScriptCalls
  /** From now on nothing the server says arrives. */
  swallowReplies(): void
  /** From now on nothing arrives on the connections there are, and nothing says so; new ones work. */
  swallowOldConnections(): void
  /** From now on nothing arrives on either side until it is let go. */
  hold(): void
  letGo(): void
  /** The next reply to a script call arrives in part, and the connection is reset. */
  resetMidReply(): void
  /** New connections go to another server. */
  turnTo(port: number): void
  /** Breaks every connection; new ones work again. */
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
      })
    }
    const [requests, replies] = [new RespStream(), new RespStream()]
    const pending: { isScript: boolean; answer: ReturnType<ScriptCalls["note"]> }[] = []
    // a replica's connection, on which from then on nothing is asked or answered
    let copies = false
    near.on("data", (data) => {
      for (const request of copies ? [] : requests.take(data)) {
        if (Array.isArray(request) && request[0] === "PSYNC") copies = true
        const isScript = Array.isArray(request) && /^eval/i.test(String(request[0]))
        pending.push({ isScript, answer: calls.note(request) })
      }
      pass(far, data)
    })
    far.on("data", (data) => {
      let ofScript = false
      for (const reply of copies ? [] : replies.take(data)) {
        if (reply instanceof RespPush) continue
        const request = pending.shift()
        request?.answer(reply)
        ofScript ||= request?.isScript === true
      }
      if (breaking && ofScript) {
        breaking = false
        near.write(data.subarray(0, Math.ceil(data.length / 2)), () => near.resetAndDestroy())
        return
      }
      if (state !== "no replies") pass(near, data)
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
