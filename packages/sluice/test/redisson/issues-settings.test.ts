import { setTimeout as sleep } from "node:timers/promises"
import { ioredis } from "sluice/redis"
import { redissonRateLimiter } from "sluice/redisson"
import { describe, expect, test } from "vitest"
import { useRig } from "./rig.js"

// Problems that users of Redisson's rate limiter have reported, by issue number: waiting, settings, expiry.
const rig = useRig()
const notInitialized = {
  code: "NOT_INITIALIZED",
  message: expect.stringMatching(/^RateLimiter is not initialized/),
}

describe("waiting ends", () => {
  test("Redisson #1524: acquire returns when permits are free again", async () => {
    const { ours } = await rig.limiter(2, 100)
    const startedAt = performance.now()
    for (let i = 0; i < 6; i += 1) await ours.acquire()
    expect(performance.now() - startedAt).toBeGreaterThan(195)
    expect(performance.now() - startedAt).toBeLessThan(1_500)
  })

  test("Redisson #1659: tryAcquire with a timeout always returns", async () => {
    const { ours } = await rig.limiter(1, 200)
    expect((await ours.tryAcquire(1, "1s")).allowed).toBe(true)
    expect((await ours.tryAcquire(1, "50ms")).allowed).toBe(false)
    expect((await ours.tryAcquire(1, "1s")).allowed).toBe(true)
  })

  test("Redisson #1524: acquire returns also when the state was lost in the meantime", async () => {
    const { ours, keys } = await rig.limiter(1, 150)
    await ours.acquire()
    const second = ours.acquire()
    await sleep(20)
    await rig.client.del(keys.permits)
    expect(await second).toMatchObject({ allowed: true, remaining: 0 })
  })
})

describe("a client by itself", () => {
  test("Redisson #1870: PER_CLIENT gives each client the rate, and OVERALL all of them together", async () => {
    const clock = rig.clock()
    const { ours, theirs, keys } = await rig.limiter(3, 1_000, { clock, type: "PER_CLIENT" })
    expect((await ours.tryAcquire(3)).allowed).toBe(true)
    expect((await ours.tryAcquire()).allowed).toBe(false)
    expect(await theirs.tryAcquire(3)).toBeNull()
    expect(await theirs.tryAcquire(1)).not.toBeNull()
    expect(await rig.client.exists(keys.ownValue, keys.ownPermits, keys.value, keys.permits)).toBe(2)

    const shared = await rig.limiter(3, 1_000, { clock, type: "OVERALL" })
    expect((await shared.ours.tryAcquire(2)).allowed).toBe(true)
    expect(await shared.theirs.tryAcquire(2)).not.toBeNull()
    expect(await shared.theirs.tryAcquire(1)).toBeNull()
  })

  test("two of our clients under PER_CLIENT have the rate each, and one id has it once", async () => {
    const { name, ours } = await rig.limiter(3, 60_000, { type: "PER_CLIENT" })
    const open = (clientId: string) => redissonRateLimiter(ioredis(rig.client), name, { clientId })
    expect((await ours.tryAcquire(3)).allowed).toBe(true)
    expect((await open("typescript").tryAcquire()).allowed).toBe(false)
    expect((await open("another").tryAcquire(3)).allowed).toBe(true)
    // Without an id, the limiters of a process are one client.
    const [one, other] = [1, 2].map(() => redissonRateLimiter(ioredis(rig.client), name))
    expect((await one?.tryAcquire(3))?.allowed).toBe(true)
    expect((await other?.tryAcquire(1))?.allowed).toBe(false)
  })
})

describe("setting a rate", () => {
  test.each(["#2618", "#5487", "#5900"])(
    "%s: trySetRate sets once and says so, setRate sets always",
    async () => {
      const { ours, theirs } = await rig.limiter(0, 0)
      expect(await ours.getConfig()).toBeUndefined()
      expect(await ours.trySetRate("OVERALL", 5, "1m")).toBe(true)
      expect(await ours.trySetRate("PER_CLIENT", 9, "1h", "2h")).toBe(false)
      expect(await ours.getConfig()).toEqual({ type: "OVERALL", rate: 5, interval: 60_000, keepAliveTime: 0 })
      await ours.setRate("OVERALL", 7, "30s", "1m")
      expect(await ours.getConfig()).toEqual({
        type: "OVERALL",
        rate: 7,
        interval: 30_000,
        keepAliveTime: 60_000,
      })
      expect(await theirs.tryAcquire(7)).toBeNull()
    },
  )

  test("Redisson #5098: setRate before every request still limits", async () => {
    const clock = rig.clock()
    const { ours } = await rig.limiter(3, 1_000, { clock })
    const allowed: boolean[] = []
    for (let i = 0; i < 5; i += 1) {
      await ours.setRate("OVERALL", 3, 1_000)
      allowed.push((await ours.tryAcquire()).allowed)
    }
    expect(allowed).toEqual([true, true, true, false, false])
  })

  test("Redisson #6499: a new rate keeps the permits given, for Redisson too", async () => {
    const clock = rig.clock()
    const { ours, theirs, keys } = await rig.limiter(10, 1_000, { clock })
    await ours.tryAcquire(6)
    clock.advance(100)
    await theirs.tryAcquire(2)
    await ours.setRate("OVERALL", 5, 1_000)
    expect(await ours.availablePermits()).toBe(0)
    // Redisson would set 0 here, and give permits of the old rate when the first of them expire.
    expect(await rig.client.get(keys.value)).toBe("-3")
    expect(await theirs.tryAcquire(1)).toBe(903)
    clock.advance(900)
    expect(await theirs.tryAcquire(4)).not.toBeNull()
    expect(await theirs.tryAcquire(3)).toBeNull()
    await ours.setRate("OVERALL", 20, 1_000)
    expect(await ours.availablePermits()).toBe(15)
    expect(await theirs.tryAcquire(16)).not.toBeNull()
    expect(await theirs.tryAcquire(15)).toBeNull()
  })

  test("drops the permits given with keepState: false or another type", async () => {
    const clock = rig.clock()
    const { name, ours, keys } = await rig.limiter(5, 1_000, { clock })
    await ours.tryAcquire(5)
    await ours.setRate("OVERALL", 5, 1_000, 0, { keepState: false })
    expect(await ours.availablePermits()).toBe(5)
    await ours.tryAcquire(5)
    await ours.setRate("PER_CLIENT", 5, 1_000)
    expect(await rig.client.exists(keys.value, keys.permits)).toBe(0)
    expect(await ours.tryAcquire(5)).toMatchObject({ allowed: true })
    await rig.client.hset(name, "type", "0") // somebody else changes it, and leaves our entries
    await ours.setRate("PER_CLIENT", 5, 1_000)
    expect(await ours.availablePermits()).toBe(5)
  })
})

describe("a limiter without a rate, or with an expired one", () => {
  test.each(["#3260", "#2451"])("Redisson %s: throws in Redisson's words", async () => {
    const { ours } = await rig.limiter(0, 0)
    await expect(ours.tryAcquire()).rejects.toMatchObject(notInitialized)
    await expect(ours.tryAcquire(1, "1s")).rejects.toMatchObject(notInitialized)
    await expect(ours.acquire()).rejects.toMatchObject(notInitialized)
    await expect(ours.availablePermits()).rejects.toMatchObject(notInitialized)
  })

  test("opik #335: uses its option config, and stores it with the first permits", async () => {
    const config = { type: "OVERALL", rate: 4, interval: "10s", keepAliveTime: "20s" } as const
    const { name, ours, keys } = await rig.limiter(0, 0, { config })
    expect(await ours.availablePermits()).toBe(4)
    expect(await rig.client.exists(name)).toBe(0)
    await expect(ours.tryAcquire(5)).rejects.toMatchObject({ code: "INVALID_COST" })
    await rig.client.zadd(keys.permits, Date.now() + 60_000, "from before")
    await ours.tryAcquire(4)
    expect(await rig.client.exists(name)).toBe(0)
    await rig.client.del(keys.permits)
    expect(await ours.tryAcquire(3)).toMatchObject({ allowed: true, remaining: 1 })
    expect(await rig.client.hgetall(name)).toEqual({
      rate: "4",
      interval: "10000",
      type: "0",
      keepAliveTime: "20000",
    })
    expect(await rig.client.pttl(name)).toBeGreaterThan(19_000)
    await rig.client.del(name)
    expect(await ours.tryAcquire(1)).toMatchObject({ allowed: true, remaining: 0 })
    // A rate that is set wins.
    await ours.setRate("OVERALL", 9, "10s")
    expect(await ours.availablePermits()).toBe(5)
  })

  test("more permits than the rate throw in Redisson's words, also after the rate was lowered", async () => {
    const { ours } = await rig.limiter(5, 60_000)
    const tooMany = {
      code: "INVALID_COST",
      message: expect.stringMatching(/^Requested permits amount cannot exceed defined rate/),
    }
    await expect(ours.tryAcquire(6)).rejects.toMatchObject(tooMany)
    await expect(ours.acquire(6)).rejects.toMatchObject(tooMany)
    await ours.tryAcquire(5)
    const waiting = expect(ours.acquire(5)).rejects.toMatchObject(tooMany)
    await ours.availablePermits() // the one who waits has been told of the rate
    // At once, not when its turn comes.
    await expect(ours.acquire(6)).rejects.toMatchObject(tooMany)
    await expect(ours.tryAcquire(6, "1s")).rejects.toMatchObject(tooMany)
    const modest = ours.acquire(4)
    await ours.setRate("OVERALL", 4, "1m")
    await waiting
    // Other waiters are not affected.
    await ours.setRate("OVERALL", 9, "1m")
    expect(await modest).toMatchObject({ allowed: true, remaining: 0 })
  })
})
