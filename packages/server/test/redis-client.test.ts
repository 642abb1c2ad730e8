import type { Redis } from "ioredis"
import { expect, test } from "vitest"
import { command, startRedis } from "../../sluice/test/support/redis-server.js"
import { connectRedis, optionsOf } from "../src/redis-client.js"

const configOf = (url: string) =>
  ({ type: "redis", servers: { url }, prefix: undefined, delivery: undefined }) as const

test("a URL is read without its query", () => {
  expect(optionsOf("rediss://ann:p%40ss@[::1]:7000/3?autoResendUnfulfilledCommands=true")).toEqual({
    host: "::1",
    port: 7000,
    username: "ann",
    password: "p@ss",
    db: 3,
    tls: {},
  })
  expect(optionsOf("redis://localhost")).toEqual({ host: "localhost", port: 6379 })
})

test("a connection uses the password and the database of its URL, and never sends calls twice", async () => {
  const server = await startRedis()
  await command(server.port, "CONFIG", "SET", "requirepass", "p@ss")
  const client = connectRedis(configOf(`redis://:p%40ss@127.0.0.1:${server.port}/2?db=5`), () => {})
  try {
    await new Promise((resolve) => client.once("ready", resolve))
    expect(await client.ping()).toBe("PONG")
    expect(client.options).toMatchObject({
      db: 2,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
    })
  } finally {
    client.disconnect()
    await server.stop()
  }
})

test.each([
  ["a server", { url: "redis://127.0.0.1:1" }],
  [
    "Sentinel",
    {
      sentinel: {
        name: "m",
        nodes: [{ host: "127.0.0.1", port: 1 }],
        password: undefined,
        sentinelPassword: undefined,
      },
    },
  ],
] as const)("a connection to %s is tried again at least once a second", (_, servers) => {
  const client = connectRedis(
    { type: "redis", servers, prefix: undefined, delivery: undefined },
    () => {},
  ) as Redis
  client.disconnect()
  const { retryStrategy } = client.options
  const pauses = Array.from({ length: 100 }, (_, i) => retryStrategy?.(i + 1))
  expect(pauses[0]).toBeLessThanOrEqual(250)
  expect(Math.max(...pauses.map(Number))).toBeLessThanOrEqual(1_000)
})
