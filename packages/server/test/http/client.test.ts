import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { fixedWindow, SluiceError } from "sluice"
import { createClient } from "sluice/client"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { defaultConfig, type HttpRig, startHttp } from "./http-rig.js"

const token = "a-token-of-an-operator"
let rig: HttpRig
beforeEach(async () => {
  rig = await startHttp({ config: `admin: { token: ${token} }\n${defaultConfig}` })
})
afterEach(() => rig.stop())

const clientWith = (options: object = {}) => createClient({ url: rig.url, token, ...options })
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "resolved",
    (error) => (error instanceof SluiceError ? error.code : error),
  )

describe("the client against a server", () => {
  test("returns the library's decisions, denials included, with Infinity where a cost can never pass", async () => {
    const limiter = clientWith().limiter("api")
    expect(await limiter.tryAcquire("k", { cost: 3 })).toMatchObject({
      allowed: true,
      remaining: 0,
      source: "store",
    })
    const denied = await limiter.tryAcquire("k")
    expect(denied.allowed).toBe(false)
    expect(denied.retryAfter).toBeGreaterThan(3_500_000)
    expect((await limiter.tryAcquire("k", { cost: 4 })).retryAfter).toBe(Number.POSITIVE_INFINITY)
    expect((await limiter.peek("k", { cost: 4 })).retryAfter).toBe(Number.POSITIVE_INFINITY)
    const plans = await clientWith()
      .limiter("plans")
      .tryAcquire("k", { cost: { tokens: 2_000 } })
    expect(plans.policies?.map(({ retryAfter }) => retryAfter)).toEqual([0, Number.POSITIVE_INFINITY])
  })

  test("waits on the server for its turn, past the deadline of a call", async () => {
    const limiter = clientWith({ deadline: 100 }).limiter("queue")
    await limiter.tryAcquire("k")
    expect((await limiter.tryAcquire("k", { timeout: "2s" })).allowed).toBe(true)
  })

  test("an aborted wait rejects with the signal's reason and is not charged", async () => {
    const limiter = clientWith().limiter("queue")
    await limiter.tryAcquire("k")
    const gone = new AbortController()
    const waiting = limiter.tryAcquire("k", { timeout: "5s", signal: gone.signal })
    await sleep(50)
    gone.abort("changed my mind")
    await expect(waiting).rejects.toBe("changed my mind")
    await expect.poll(async () => (await limiter.inspect("k")).policies[0]?.used).toBe(0)
    await expect(limiter.tryAcquire("k", { signal: gone.signal })).rejects.toBe("changed my mind")
  })

  test("reserves, settles and cancels, also by the id alone", async () => {
    const limiter = clientWith().limiter("api")
    const first = await limiter.reserve("k", { cost: 3, ttl: "1m" })
    expect(first.decision.remaining).toBe(0)
    const denied = await limiter.reserve("k")
    expect([denied.decision.allowed, await denied.settle(1), await denied.cancel()]).toEqual([
      false,
      false,
      false,
    ])
    expect(await first.settle(1)).toBe(true)
    expect(await first.cancel()).toBe(false)
    const { id } = await limiter.reserve("k", { cost: 2 })
    expect(await limiter.reservation("k", id).cancel()).toBe(true)
    expect((await limiter.peek("k")).remaining).toBe(2)
  })

  test("charges, refunds, resets and inspects", async () => {
    const limiter = clientWith().limiter("api")
    expect((await limiter.charge("k", 3)).remaining).toBe(0)
    await limiter.refund("k", 2)
    expect((await limiter.inspect("k")).policies[0]).toMatchObject({ used: 1, remaining: 2 })
    await limiter.reset("k")
    expect((await limiter.peek("k")).remaining).toBe(3)
  })

  test("operators set, list and remove rules, with dates", async () => {
    const { rules, limiter } = clientWith()
    const until = new Date(Date.now() + 60_000)
    await rules.block({ limiter: "api", key: "k", until, reason: "abuse", by: "ops" })
    expect(await rules.list()).toEqual([
      { limiter: "api", key: "k", action: "block", until, reason: "abuse", by: "ops" },
    ])
    expect((await limiter("api").inspect("k")).rule).toMatchObject({ until })
    expect((await limiter("api").peek("k")).retryAfter).toBeGreaterThan(0)
    await rules.set({
      limiter: "api",
      key: "k",
      policy: fixedWindow({ limit: 9, window: "1h" }),
      until: "1h",
    })
    expect((await limiter("api").tryAcquire("k")).limit).toBe(9)
    await rules.allow({ limiter: "api", pattern: "vip:*" })
    expect((await limiter("api").tryAcquire("vip:1")).source).toBe("rule")
    expect(await rules.remove({ limiter: "api", key: "k" })).toBe(true)
    expect(await rules.list({ limiter: "queue" })).toEqual([])
    const [change] = await rules.history({ limiter: "api", count: 1 })
    expect(change).toMatchObject({ action: "remove", key: "k", at: expect.any(Date) })
  })

  test("operators list limiters and the busiest keys", async () => {
    const client = clientWith()
    await client.limiter("odd name/{x}").tryAcquire("k")
    expect((await client.limiters()).map(({ name }) => name)).toContain("odd name/{x}")
    expect(await client.top(3)).toMatchObject([{ limiter: "odd name/{x}", busiest: { total: 1 } }])
  })

  test.each([
    ["an unknown limiter", () => clientWith().limiter("nope").tryAcquire("k"), "INVALID_OPTION"],
    [
      "a key of 9,000 characters",
      () => clientWith().limiter("api").tryAcquire("k".repeat(9_000)),
      "INVALID_OPTION",
    ],
    [
      "a number for several policies",
      () => clientWith().limiter("plans").tryAcquire("k", { cost: 2 }),
      "INVALID_COST",
    ],
    ["a missing token", () => clientWith({ token: undefined }).limiter("api").reset("k"), "INVALID_OPTION"],
    ["a wrong token", () => clientWith({ token: "wrong" }).limiters(), "INVALID_OPTION"],
    [
      "another algorithm",
      () =>
        clientWith().rules.set({
          limiter: "plans",
          key: "k",
          policy: { requests: fixedWindow({ limit: 1, window: 1 }) },
        }),
      "INVALID_POLICY",
    ],
  ])("%s rejects with the library's error", async (_, call, code) => {
    expect(await codeOf(call())).toBe(code)
  })

  test("a server that drains rejects a wait with STORE_REFUSED, because nothing was charged", async () => {
    const limiter = clientWith().limiter("slow")
    await limiter.tryAcquire("k")
    const waiting = codeOf(limiter.tryAcquire("k", { timeout: "5s" }))
    await sleep(50)
    const drained = rig.drain()
    expect(await waiting).toBe("STORE_REFUSED")
    await drained
  })

  test("a port where nobody listens rejects with STORE_REFUSED", async () => {
    const free = createServer()
    await new Promise<void>((resolve) => free.listen(0, "127.0.0.1", resolve))
    const { port } = free.address() as AddressInfo
    await new Promise((resolve) => free.close(resolve))
    expect(
      await codeOf(
        createClient({ url: `http://127.0.0.1:${port}` })
          .limiter("api")
          .peek("k"),
      ),
    ).toBe("STORE_REFUSED")
  })

  test("a server that never answers rejects with STORE_UNKNOWN at the deadline, and gets the call once", async () => {
    let calls = 0
    const silent = createServer(() => {
      calls += 1
    })
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve))
    const { port } = silent.address() as AddressInfo
    const limiter = createClient({ url: `http://127.0.0.1:${port}/`, deadline: "200ms" }).limiter("api")
    expect(await codeOf(limiter.tryAcquire("k"))).toBe("STORE_UNKNOWN")
    expect(calls).toBe(1)
    silent.closeAllConnections()
    silent.close()
  })

  test("a connection that breaks before the answer rejects with STORE_UNKNOWN, and the call is not sent again", async () => {
    let calls = 0
    const rude = createServer((request) => {
      calls += 1
      request.socket.destroy()
    })
    await new Promise<void>((resolve) => rude.listen(0, "127.0.0.1", resolve))
    const { port } = rude.address() as AddressInfo
    expect(
      await codeOf(
        createClient({ url: `http://127.0.0.1:${port}` })
          .limiter("api")
          .tryAcquire("k"),
      ),
    ).toBe("STORE_UNKNOWN")
    expect(calls).toBe(1)
    rude.close()
  })
})
