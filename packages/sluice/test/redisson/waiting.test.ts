import { randomBytes } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { ioredis } from "sluice/redis"
import { redissonRateLimiter } from "sluice/redisson"
import { afterEach, describe, expect, test, vi } from "vitest"
import { pack } from "../support/redisson.js"
import { watch } from "../support/watched-client.js"
import { useRig } from "./rig.js"

const rig = useRig()

/** A limiter without free permits, and another of the same name whose calls are counted. */
async function spent(rate: number, interval: number) {
  const limiter = await rig.limiter(rate, interval)
  const { client, calls } = watch(ioredis(rig.client))
  const watched = redissonRateLimiter(client, limiter.name, { clientId: "watched" })
  await limiter.ours.tryAcquire(rate)
  return { ...limiter, watched, calls }
}

describe("a timeout", () => {
  test("that cannot be met is denied at once, with the wait", async () => {
    const { ours } = await spent(5, 60_000)
    const startedAt = performance.now()
    const decision = await ours.tryAcquire(1, "10s")
    expect(performance.now() - startedAt).toBeLessThan(1_000)
    expect(decision).toMatchObject({ allowed: false, limit: 5, remaining: 0 })
    expect(decision.retryAfter).toBeGreaterThan(59_000)
    expect(decision.retryAfter).toBeLessThanOrEqual(60_000)
  })

  test("behind other waiters is waited for if it can be met", async () => {
    const { watched } = await spent(5, 100)
    for (let i = 0; i < 10; i += 1) await watched.acquire(5)
    const [first, behind] = await Promise.all([
      watched.acquire(),
      sleep(20).then(() => watched.tryAcquire(1, 600)),
    ])
    expect([first.allowed, behind.allowed]).toEqual([true, true])
  })

  test("that can be met is waited for, no longer than needed", async () => {
    const { ours } = await spent(5, 200)
    const startedAt = performance.now()
    expect(await ours.tryAcquire(5, "10s")).toMatchObject({ allowed: true, remaining: 0, retryAfter: 0 })
    expect(performance.now() - startedAt).toBeGreaterThan(150)
    expect(performance.now() - startedAt).toBeLessThan(1_000)
  })

  test("behind other waiters is denied at once if their permits leave none in time", async () => {
    const { watched, calls } = await spent(5, 5_000)
    const first = watched.acquire(4)
    await vi.waitFor(() => expect(calls).toHaveLength(1))
    await sleep(20)
    // With the waiter in front that makes six, and no interval has more than five.
    const startedAt = performance.now()
    const behind = await watched.tryAcquire(2, "9s")
    expect(performance.now() - startedAt).toBeLessThan(1_000)
    expect(behind.allowed).toBe(false)
    expect(behind.retryAfter).toBeGreaterThan(9_000)
    expect(behind.retryAfter).toBeLessThanOrEqual(10_000)
    expect(calls).toHaveLength(1)
    const together = watched.tryAcquire(1, "9s")
    await watched.close()
    await expect(first).rejects.toMatchObject({ code: "CLOSED" })
    await expect(together).rejects.toMatchObject({ code: "CLOSED" })
  })

  test("is denied as soon as other processes have taken the permits it waited for", async () => {
    const { watched, keys } = await spent(5, 800)
    const startedAt = performance.now()
    const waiting = watched.tryAcquire(1, 2_500)
    await sleep(50)
    await rig.client.zadd(keys.permits, Date.now() + 2_000, pack("Bc0I", randomBytes(16), 5))
    const decision = await waiting
    expect(decision).toMatchObject({ allowed: false, remaining: 0 })
    expect(decision.retryAfter).toBeGreaterThan(800)
    expect(performance.now() - startedAt).toBeGreaterThan(700)
    expect(performance.now() - startedAt).toBeLessThan(2_000)
  })
})

describe("the order", () => {
  test("of waiters is the order of their grants, for large and small requests", async () => {
    const { watched } = await spent(5, 150)
    const got: number[] = []
    const asks = [5, 1, 4, 2, 3, 5, 1, 1]
    await Promise.all(asks.map((permits, i) => watched.acquire(permits).then(() => got.push(i))))
    expect(got).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })

  test("holds between a wait with a timeout and one without", async () => {
    const { watched } = await spent(1, 100)
    const got: string[] = []
    await Promise.all([
      watched.acquire().then(() => got.push("first")),
      watched.tryAcquire(1, "5s").then(() => got.push("second")),
      watched.acquire().then(() => got.push("third")),
    ])
    expect(got).toEqual(["first", "second", "third"])
  })
})

describe("a thousand waiters", () => {
  afterEach(() => vi.restoreAllMocks())

  test("need one timer and one call per batch, and no calls while no permits are free", async () => {
    const { watched, calls } = await spent(500, 800)
    const timers = vi.spyOn(globalThis, "setTimeout")
    const startedAt = performance.now()
    const waits = Array.from({ length: 500 }, () => watched.acquire())
    await sleep(50)
    waits.push(...Array.from({ length: 500 }, () => watched.acquire()))
    await sleep(50)
    const before = calls.length
    expect(before).toBeLessThanOrEqual(2)
    await sleep(100)
    expect(calls.length).toBe(before)
    const decisions = await Promise.all(waits)
    expect(performance.now() - startedAt).toBeGreaterThan(2 * 800 - 50)
    expect(decisions.every(({ allowed }) => allowed)).toBe(true)
    // 16 calls of 64 if every call were full, one denied call per interval, and some for entries that were
    // given a millisecond apart.
    expect(calls.length).toBeLessThan(60)
    expect(timers.mock.calls.length).toBeLessThan(60)
    // None of them keeps the process alive.
    expect(timers.mock.results.map(({ value }) => value.hasRef())).not.toContain(true)
  })
})

describe("more than ten thousand waiters", () => {
  test("are not let into the queue, and a timeout is not waited for", async () => {
    const { watched, calls } = await spent(5, 60_000)
    const waits = Array.from({ length: 10_000 }, () => watched.acquire())
    const ends = Promise.allSettled(waits)
    await expect(watched.acquire()).rejects.toMatchObject({ code: "QUEUE_FULL" })
    const before = calls.length
    expect(await watched.tryAcquire(1, "5m")).toMatchObject({ allowed: false, remaining: 0 })
    expect(calls.length).toBe(before + 1)
    await watched.close()
    expect((await ends).every(({ status }) => status === "rejected")).toBe(true)
  })
})

describe("an abort", () => {
  test("rejects a wait with its reason, and the next waiter requests permits", async () => {
    const { watched, ours } = await spent(5, 60_000)
    const controller = new AbortController()
    await ours.setRate("OVERALL", 7, "1m")
    const large = watched.acquire(7, { signal: controller.signal })
    const small = watched.acquire(2)
    await sleep(30)
    controller.abort(new Error("enough"))
    await expect(large).rejects.toThrow("enough")
    expect(await small).toMatchObject({ allowed: true, remaining: 0 })
  })

  test("in the middle of the queue leaves the others in their order", async () => {
    const { watched } = await spent(2, 200)
    const controller = new AbortController()
    const got: number[] = []
    const waits = [0, 1, 2].map((i) =>
      watched.acquire(1, i === 1 ? { signal: controller.signal } : {}).then(() => got.push(i)),
    )
    const aborted = expect(waits[1]).rejects.toMatchObject({ name: "AbortError" })
    controller.abort()
    await aborted
    await Promise.all([waits[0], waits[2]])
    expect(got).toEqual([0, 2])
  })

  test("rejects all waiters with that signal, with one listener", async () => {
    const { watched } = await spent(5, 60_000)
    const controller = new AbortController()
    const listened = vi.spyOn(controller.signal, "addEventListener")
    const waits = Array.from({ length: 20 }, () => watched.acquire(1, { signal: controller.signal }))
    controller.abort(new Error("enough"))
    for (const { status } of await Promise.allSettled(waits)) expect(status).toBe("rejected")
    expect(listened).toHaveBeenCalledTimes(1)
  })

  test("after the permits has no effect", async () => {
    const { watched, ours } = await spent(5, 60_000)
    await ours.setRate("OVERALL", 6, "1m")
    const controller = new AbortController()
    await watched.acquire(1, { signal: controller.signal })
    const other = watched.acquire(1)
    controller.abort()
    await watched.setRate("OVERALL", 7, "1m")
    expect(await other).toMatchObject({ allowed: true })
  })

  test("before the request spends nothing, with or without a wait", async () => {
    const { ours } = await rig.limiter(5, 60_000)
    const signal = AbortSignal.abort()
    for (const ask of [() => ours.acquire(1, { signal }), () => ours.tryAcquire(1, { signal })]) {
      await expect(ask()).rejects.toMatchObject({ name: "AbortError" })
    }
    expect(await ours.availablePermits()).toBe(5)
  })

  test("during the call gives the granted permits back", async () => {
    const { ours, theirs, keys } = await rig.limiter(5, 60_000)
    await ours.tryAcquire(1)
    const controller = new AbortController()
    const waiting = ours.acquire(4, { signal: controller.signal })
    const behind = ours.acquire(1)
    controller.abort()
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" })
    await behind
    await vi.waitFor(async () => expect(await ours.availablePermits()).toBe(3))
    expect(await rig.client.get(keys.value)).toBe("3")
    expect(await theirs.tryAcquire(3)).toBeNull()
  })
})

describe("close", () => {
  test("rejects every waiter and every later call with CLOSED", async () => {
    const { watched } = await spent(1, 60_000)
    const waits = Array.from({ length: 50 }, () => watched.acquire())
    const ends = Promise.allSettled(waits)
    await sleep(20)
    await watched.close()
    for (const end of await ends) {
      expect(end).toMatchObject({ status: "rejected", reason: { code: "CLOSED" } })
    }
    const uses = [watched.tryAcquire(), watched.acquire(), watched.availablePermits(), watched.getConfig()]
    const more = [watched.setRate("OVERALL", 1, 1), watched.trySetRate("OVERALL", 1, 1), watched.delete()]
    for (const use of [...uses, ...more]) await expect(use).rejects.toMatchObject({ code: "CLOSED" })
    await watched.close()
  })

  test("gives back permits granted to rejected waiters", async () => {
    const { ours, name, keys } = await rig.limiter(5, 60_000)
    await using other = redissonRateLimiter(ioredis(rig.client), name)
    const waiting = expect(ours.acquire(5)).rejects.toMatchObject({ code: "CLOSED" })
    await ours.close() // the call has left
    await waiting
    await vi.waitFor(async () => expect(await other.availablePermits()).toBe(5))
    expect(await rig.client.get(keys.value)).toBe("5")
  })
})

test("a reply from before a new rate does not delay waiters", async () => {
  const { name, ours } = await spent(5, 60_000)
  const through = ioredis(rig.client)
  let hold: Promise<unknown> = Promise.resolve()
  const slow = redissonRateLimiter(
    { ...through, run: (...call) => through.run(...call).finally(() => hold) },
    name,
  )
  let letGo = () => {}
  hold = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const waiting = slow.acquire(2)
  await ours.availablePermits()
  await ours.setRate("OVERALL", 7, "1m")
  hold = Promise.resolve()
  await slow.setRate("OVERALL", 7, "1m") // done while the first answer is still under way
  letGo()
  expect(await waiting).toMatchObject({ allowed: true, remaining: 0 })
  await slow.close()
})

test("waiters request permits again at once after setRate or delete", async () => {
  const { watched } = await spent(5, 60_000)
  const waiting = watched.acquire(2)
  const behind = watched.acquire(5)
  await sleep(20)
  await watched.setRate("OVERALL", 7, "1m")
  expect(await waiting).toMatchObject({ allowed: true, limit: 7, remaining: 0 })
  const ended = expect(behind).rejects.toMatchObject({ code: "NOT_INITIALIZED" })
  await watched.delete()
  await ended
})
