import { Redis } from "ioredis"
import { describe, expect, test } from "vitest"
import { glide } from "./clients/glide.js"
import { ioredis } from "./clients/ioredis.js"
import { nodeRedis } from "./clients/node-redis.js"
import { outcomeOf } from "./outcome.js"
import { redisStore } from "./redis-store.js"

test("a call that an ioredis Cluster rejects at once was never sent, and one rejected later may have run", async () => {
  const closed = () => Promise.reject(new Error("Connection is closed."))
  const outcomeWith = (isCluster: boolean, call: () => Promise<unknown>, status = "ready") =>
    ioredis({ isCluster, status, evalsha: call, eval: call, fcall: call, call })
      .run("FCALL", "", [], [])
      .catch(outcomeOf)
  expect(await outcomeWith(true, closed)).toBe("again")
  expect(await outcomeWith(true, closed, "end")).toBe("refused")
  expect(await outcomeWith(true, () => Promise.resolve().then(closed))).toBe("unknown")
  expect(await outcomeWith(true, () => Promise.reject(new Error("Command timed out")))).toBe("unknown")
  expect(await outcomeWith(false, closed)).toBe("unknown")
})

describe("redisStore", () => {
  const client = ioredis(new Redis({ lazyConnect: true }))

  test.each([
    [{ prefix: "" }, "prefix must be a non-empty string without braces"],
    [{ prefix: "a{b}" }, "prefix must be a non-empty string without braces"],
    [{ clock: 7 }, "clock must be a function"],
    [{ delivery: "pigeon" }, 'delivery must be "function" or "script"'],
    [{ retryFor: "soon" }, "retryFor must be whole milliseconds"],
    [
      { keyPrefix: "x" },
      'redisStore has no field "keyPrefix"; it takes prefix, clock, denyCache, retryFor, delivery',
    ],
  ])("refuses %o", (options, message) => {
    expect(() => redisStore(client, options as never)).toThrow(message)
  })

  test("rejects a client without its adapter", () => {
    expect(() => redisStore({ get() {} } as never)).toThrow(
      "redisStore takes ioredis(client), nodeRedis(client) or glide(client)",
    )
    expect(() => redisStore(new Redis({ lazyConnect: true }) as never)).toThrow(
      "redisStore takes ioredis(client)",
    )
    expect(() => redisStore(undefined as never)).toThrow("got undefined")
  })

  test("rejects a client of another adapter, and names the right one", () => {
    const redis = new Redis({ lazyConnect: true }) as never
    expect(() => nodeRedis(redis)).toThrow(
      "nodeRedis takes a client with evalSha and eval and fCall, got an object; this looks like a client for ioredis(client)",
    )
    expect(() => glide(redis)).toThrow(/^glide takes a client with customCommand.*for ioredis\(client\)$/)
    const other = { evalSha() {}, eval() {} } as never
    expect(() => ioredis(other)).toThrow(/^ioredis takes a client with evalsha.*for nodeRedis\(client\)$/)
    expect(() => ioredis({ customCommand() {} } as never)).toThrow("for glide(client)")
    for (const nothing of [undefined, null, "redis://localhost", {}] as never[]) {
      expect(() => ioredis(nothing)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }))
    }
  })
})
