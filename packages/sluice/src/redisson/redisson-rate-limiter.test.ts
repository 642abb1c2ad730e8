import { Redis } from "ioredis"
import { describe, expect, test } from "vitest"
import { ioredis } from "../stores/redis/clients/ioredis.js"
import { redissonKeys } from "./keys.js"
import { decodeRate } from "./rate.js"
import { redissonRateLimiter } from "./redisson-rate-limiter.js"

const client = ioredis(new Redis({ lazyConnect: true }))
const limiter = redissonRateLimiter(client, "orders")

describe("redissonRateLimiter", () => {
  test.each([
    [{ clientId: "" }, "clientId must be a non-empty string"],
    [{ clientId: 7 }, "clientId must be a non-empty string, got 7"],
    [{ layout: "fI" }, 'layout must be "Bc0I" or "Lc0I", got "fI"'],
    [{ retryFor: "soon" }, "retryFor must be whole milliseconds"],
    [{ config: { type: "OVERALL", rate: 0, interval: 1 } }, "rate must be an integer"],
    [{ id: "x" }, 'redissonRateLimiter has no field "id"; it takes clientId, config, layout, retryFor'],
  ])("refuses %o", (options, message) => {
    expect(() => redissonRateLimiter(client, "orders", options as never)).toThrow(message)
  })

  test("throws for a client without its adapter and for an invalid name", () => {
    expect(() => redissonRateLimiter(new Redis({ lazyConnect: true }) as never, "orders")).toThrow(
      "redissonRateLimiter takes ioredis(client), nodeRedis(client) or glide(client)",
    )
    for (const name of ["", undefined, 7]) {
      expect(() => redissonRateLimiter(client, name as never)).toThrow("name must be a non-empty string")
    }
  })
})

describe("a rate", () => {
  test.each([
    [["GLOBAL", 5, "1s"], 'type must be "OVERALL" or "PER_CLIENT", got "GLOBAL"'],
    [["OVERALL", 0, "1s"], "rate must be an integer from 1 to 10¹², got 0"],
    [["OVERALL", 1.5, "1s"], "rate must be an integer from 1 to 10¹², got 1.5"],
    [["OVERALL", 5, "1 second"], "interval must be whole milliseconds"],
    [["OVERALL", 5, "1s", -1], "keepAliveTime must be whole milliseconds"],
    [["OVERALL", 5, "1s", "999ms"], 'keepAliveTime must be at least the interval of 1000 ms, got "999ms"'],
  ])("like %j is refused", async (rate, message) => {
    const error = expect.objectContaining({
      code: "INVALID_POLICY",
      message: expect.stringContaining(message),
    })
    await expect(limiter.setRate(...(rate as Parameters<typeof limiter.setRate>))).rejects.toEqual(error)
    await expect(limiter.trySetRate(...(rate as Parameters<typeof limiter.trySetRate>))).rejects.toEqual(
      error,
    )
  })

  test("a rate is decoded from numbers, bigints, strings and Buffers", () => {
    const read = { type: "PER_CLIENT", rate: 5, interval: 1_000, keepAliveTime: 0 }
    for (const reply of [
      [5, 1_000, "1", 0],
      ["5", "1000", "1", "0"],
      [5n, Buffer.from("1000"), "1", 0n],
    ]) {
      expect(decodeRate(reply)).toEqual(read)
    }
    expect(decodeRate([])).toBeUndefined()
  })
})

describe("a request", () => {
  test.each([0, -1, 1.5, 2 ** 32, Number.NaN, "1"])("for %o permits is refused", async (permits) => {
    const error = expect.objectContaining({ code: "INVALID_COST" })
    await expect(limiter.tryAcquire(permits as number)).rejects.toEqual(error)
    await expect(limiter.acquire(permits as number)).rejects.toEqual(error)
  })

  test("a request with unknown options rejects", async () => {
    const error = expect.objectContaining({ code: "INVALID_OPTION" })
    await expect(limiter.tryAcquire(1, "soon" as never)).rejects.toEqual(error)
    await expect(limiter.tryAcquire(1, { wait: 5 } as never)).rejects.toEqual(error)
    await expect(limiter.acquire(1, { timeout: 5 } as never)).rejects.toEqual(error)
    await expect(limiter.acquire(1, { signal: 5 } as never)).rejects.toEqual(error)
    await expect(limiter.setRate("OVERALL", 1, 1, 0, { keepState: 1 } as never)).rejects.toEqual(error)
  })
})

test("keys are named as Redisson names them", () => {
  expect(redissonKeys("orders", "c")).toEqual([
    "orders",
    "{orders}:value",
    "{orders}:value:c",
    "{orders}:permits",
    "{orders}:permits:c",
  ])
  expect(redissonKeys("app:{eu}:orders", "c").slice(1)).toEqual([
    "app:{eu}:orders:value",
    "app:{eu}:orders:value:c",
    "app:{eu}:orders:permits",
    "app:{eu}:orders:permits:c",
  ])
})
