import { setTimeout as sleep } from "node:timers/promises"
import { status } from "@grpc/grpc-js"
import { afterEach, expect, test } from "vitest"
import { on } from "./support/rls-client.js"
import { startRls } from "./support/rls-server.js"
import { encode, Message } from "./support/wire.js"

const config = "domain: d\ndescriptors: [{ key: k, rate_limit: { unit: year, requests_per_unit: 5 } }]"
const CHECK = "/grpc.health.v1.Health/Check"
const [SERVING, NOT_SERVING] = [1, 2]

const servers: Awaited<ReturnType<typeof startRls>>[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()))
})
const start = async () => {
  const server = await startRls(config)
  servers.push(server)
  return server
}
const healthOf = async ({ unary }: Awaited<ReturnType<typeof start>>, service: string) =>
  new Message(await unary(CHECK, encode(service === "" ? [] : [[1, service]]))).integer(1)

test("health is SERVING for the server and for the rate limit service", async () => {
  const server = await start()
  expect(await healthOf(server, "")).toBe(SERVING)
  expect(await healthOf(server, "envoy.service.ratelimit.v3.RateLimitService")).toBe(SERVING)
})

test("health of an unknown service is not found", async () => {
  const server = await start()
  await expect(healthOf(server, "nobody")).rejects.toMatchObject({ code: status.NOT_FOUND })
})

test("health is NOT_SERVING while the server drains", async () => {
  const server = await start()
  server.stopping.abort()
  expect(await healthOf(server, "")).toBe(NOT_SERVING)
  expect(await healthOf(server, "envoy.service.ratelimit.v3.RateLimitService")).toBe(NOT_SERVING)
})

test("reflection lists the services and describes the rate limit protocol", async () => {
  const { raw } = await start()
  const reflect = (request: Buffer) =>
    new Promise<Message>((resolve, reject) => {
      const pass = (value: Buffer) => value
      const call = raw.makeBidiStreamRequest(
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        pass,
        pass,
      )
      call.on("error", reject).on("data", (bytes: Buffer) => {
        resolve(new Message(bytes))
        call.end()
      })
      call.write(request)
    })
  const listed = await reflect(encode([[7, ""]]))
  const services = listed
    .message(6)
    ?.messages(1)
    .map((each) => each.text(1))
  expect(services).toEqual(
    expect.arrayContaining(["envoy.service.ratelimit.v3.RateLimitService", "grpc.health.v1.Health"]),
  )
  const described = await reflect(encode([[4, "envoy.service.ratelimit.v3.RateLimitService"]]))
  const files = described.message(4)?.texts(1) ?? []
  expect(files.some((file) => file.includes("ShouldRateLimit"))).toBe(true)
})

test("an unknown method is unimplemented", async () => {
  const { unary } = await start()
  const call = unary("/envoy.service.ratelimit.v3.RateLimitService/Nothing", Buffer.alloc(0))
  await expect(call).rejects.toMatchObject({ code: status.UNIMPLEMENTED })
})

test("a drain waits for calls in flight and refuses connections after", async () => {
  const server = await start()
  const calls = Array.from({ length: 50 }, (_, i) => server.ask("d", [on("k", `v${i}`)]))
  await calls[0]
  const drained = server.listener.drain({ deadline: 5_000, idle: 0 })
  const codes = await Promise.all(calls.map((call) => call.then(({ code }) => code)))
  expect(new Set(codes)).toEqual(new Set(["OK"]))
  await drained
  await expect(server.ask("d", [on("k", "late")])).rejects.toMatchObject({ code: status.UNAVAILABLE })
})

test("a drain ends at its deadline although a client watches the health", async () => {
  const server = await start()
  const pass = (value: Buffer) => value
  const watch = server.raw.makeServerStreamRequest(
    "/grpc.health.v1.Health/Watch",
    pass,
    pass,
    Buffer.alloc(0),
  )
  watch.on("error", () => {})
  await new Promise((resolve) => watch.once("data", resolve))
  const since = Date.now()
  await server.listener.drain({ deadline: 200, idle: 0 })
  expect(Date.now() - since).toBeGreaterThanOrEqual(190)
  expect(Date.now() - since).toBeLessThan(3_000)
  await sleep(0)
})

test("a port that is taken rejects", async () => {
  const { listenGrpc } = await import("../../src/grpc/grpc-server.js")
  const { context, port } = await start()
  await expect(listenGrpc(context, { host: "127.0.0.1", port })).rejects.toThrow(/EADDRINUSE/)
})
