import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { expect, onTestFinished, test } from "vitest"
import { WebSocket } from "ws"
import { serve } from "../../../../examples/integrations/websocket.js"

test("the WebSocket example warns twice and then closes with 1008, also on a second connection", async () => {
  const server = serve(0)
  onTestFinished(() => {
    for (const client of server.clients) client.terminate()
    server.close()
  })
  await once(server, "listening")
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
  const connect = async () => {
    const socket = new WebSocket(url)
    const received: string[] = []
    socket.on("message", (data) => received.push(String(data)))
    await once(socket, "open")
    return { socket, received, closed: once(socket, "close") }
  }

  const first = await connect()
  for (let i = 1; i <= 20; i += 1) first.socket.send(`${i}`)
  const [code, reason] = await first.closed
  expect([code, String(reason)]).toEqual([1008, "too many messages"])
  const echoes = first.received.filter((text) => text.startsWith("echo"))
  expect(echoes.slice(0, 5)).toEqual(["echo: 1", "echo: 2", "echo: 3", "echo: 4", "echo: 5"])
  const warnings = first.received.filter((text) => text.includes("error"))
  expect(warnings).toHaveLength(2)
  expect(JSON.parse(warnings[0] as string).retryAfter).toBeGreaterThan(0)

  const second = await connect()
  for (let i = 1; i <= 20; i += 1) second.socket.send(`${i}`)
  expect((await second.closed)[0]).toBe(1008)
  expect(second.received.filter((text) => text.includes("error"))).toEqual([])
})

test("the WebSocket example answers a client within its limit and keeps it connected", async () => {
  const server = serve(0)
  onTestFinished(() => {
    for (const client of server.clients) client.terminate()
    server.close()
  })
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  // Another address of loopback is another client.
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { localAddress: "127.0.0.2" })
  await once(socket, "open")
  for (const text of ["a", "b", "c"]) {
    socket.send(text)
    const [data] = await once(socket, "message")
    expect(String(data)).toBe(`echo: ${text}`)
  }
  expect(socket.readyState).toBe(WebSocket.OPEN)
})
