import { createLimiter, fixedWindow, leakyBucket, memoryStore, slidingLog, tokenBucket } from "sluice"
import { manualClock } from "sluice/testing"
import { describe, expect, test, vi } from "vitest"
import { settled } from "../../test/support/distant-store.js"

/** One unit every 100 ms, and one at once. */
const even = tokenBucket({ capacity: 1, refill: 1, every: 100 })

function setUp<P extends Parameters<typeof createLimiter>[0]["policy"]>(policy: P, options: object = {}) {
  const clock = manualClock()
  const limiter = createLimiter({ policy: policy as typeof even, store: memoryStore({ clock }), ...options })
  const had: string[] = []
  const start = clock()
  const wait = (name: string, more: Parameters<typeof limiter.acquire>[1] = {}) =>
    limiter.acquire("k", more).then(
      (decision) => {
        had.push(`${name}@${clock() - start}`)
        return decision
      },
      (error: unknown) => {
        had.push(`${name} ${(error as { code?: string }).code ?? error}`)
        return error
      },
    )
  const pass = async (ms: number) => {
    await settled()
    for (let i = 0; i < ms; i += 10) {
      clock.advance(10)
      await settled()
    }
  }
  return { clock, limiter, had, wait, pass }
}

describe("acquire", () => {
  test("gives turns in the order of asking, when the policy grants them", async () => {
    const { had, wait, pass } = setUp(even)
    for (const name of ["a", "b", "c", "d"]) wait(name)
    await pass(290)
    expect(had).toEqual(["a@0", "b@100", "c@200"])
    await pass(10)
    expect(had.at(-1)).toBe("d@300")
  })

  test("resolves with the decision as it is at the turn", async () => {
    const { wait, pass } = setUp(tokenBucket({ capacity: 5, refill: 1, every: 100 }))
    const decisions = [wait("a"), wait("b", { cost: 5 })]
    await pass(100)
    expect(await decisions[0]).toMatchObject({ allowed: true, remaining: 4, retryAfter: 0, resetAfter: 100 })
    expect(await decisions[1]).toMatchObject({ allowed: true, remaining: 0, retryAfter: 0, resetAfter: 500 })
  })

  test.each([
    ["slidingLog", slidingLog({ limit: 10, window: 500 })],
    ["fixedWindow", fixedWindow({ limit: 10, window: 500 })],
  ])("is as if the last had never waited, when they give up (%s)", async (_, policy) => {
    const { clock, limiter, had, wait, pass } = setUp(policy)
    await limiter.tryAcquire("k", { cost: 10 })
    const stops = Array.from({ length: 10 }, () => new AbortController())
    for (const [i, { signal }] of stops.entries()) {
      wait(`${i}`, { signal })
      // Times that no sum of fractions equals.
      clock.advance(1 / 3)
      await settled()
    }
    for (const stop of stops.slice(5)) stop.abort("enough")
    await pass(510)
    expect(had.filter((each) => each.includes("@"))).toHaveLength(5)
    expect(await limiter.peek("k")).toMatchObject({ remaining: 5 })
  })

  test("names the policy that makes a turn come too late", async () => {
    const { limiter, pass } = setUp({
      quota: slidingLog({ limit: 1_000, window: "1h" }),
      queue: leakyBucket({ capacity: 10, leak: 1, every: "1s" }),
    })
    await limiter.acquire("k")
    const refused = await limiter.tryAcquire("k", { timeout: 10 })
    expect(refused).toMatchObject({ allowed: false, policy: "queue", remaining: 9, retryAfter: 1_000 })
    expect(refused.policies).toMatchObject([
      { policy: "quota", allowed: true, retryAfter: 0 },
      { policy: "queue", allowed: false, retryAfter: 1_000 },
    ])
    await pass(0)
  })

  test("lets nobody who only asks go before those who wait", async () => {
    const { limiter, wait, pass } = setUp(even)
    wait("a")
    wait("b")
    await pass(50)
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: false, retryAfter: 150 })
    expect(await limiter.tryAcquire("other")).toMatchObject({ allowed: true })
  })

  test("waits until all of several policies grant", async () => {
    const policy = { even, few: fixedWindow({ limit: 2, window: 1_000 }) }
    const { had, wait, pass } = setUp(policy)
    for (const name of ["a", "b", "c", "d"]) wait(name)
    await pass(1_200)
    expect(had).toEqual(["a@0", "b@100", "c@1000", "d@1100"])
  })

  test("under a leaky bucket is a queue with an even outflow that holds as much as the bucket", async () => {
    const { had, wait, pass } = setUp(leakyBucket({ capacity: 3, leak: 1, every: 100 }))
    for (const name of ["a", "b", "c", "d"]) wait(name)
    await pass(200)
    expect(had).toEqual(["a@0", "d QUEUE_FULL", "b@100", "c@200"])
  })

  test("refuses a wait past maxWait at once, with the denial, and takes nothing", async () => {
    const { limiter, had, wait, pass } = setUp(even, { maxWait: 250 })
    for (const name of ["a", "b", "c"]) wait(name)
    const error = await wait("d")
    expect(error).toMatchObject({
      code: "WAIT_TOO_LONG",
      message: "its turn would come in 300 ms, past maxWait, 250 ms; shed the work, or raise maxWait",
      decision: { allowed: false, retryAfter: 300 },
    })
    await pass(200)
    expect(had).toEqual(["a@0", "d WAIT_TOO_LONG", "b@100", "c@200"])
    expect(await limiter.peek("k")).toMatchObject({ retryAfter: 100 })
  })

  test("refuses a cost that never passes", async () => {
    const { wait } = setUp(even)
    expect(await wait("a", { cost: 2 })).toMatchObject({
      code: "WAIT_TOO_LONG",
      message:
        'the cost exceeds the most that policy "default" can grant, 1; lower the cost, or raise the limit',
      decision: { retryAfter: Number.POSITIVE_INFINITY },
    })
  })

  test("lets no more of a key wait than half of maxWaiters", async () => {
    const { had, wait, pass } = setUp(even, { maxWaiters: 4 })
    for (const name of ["a", "b", "c"]) wait(name)
    expect(await wait("d")).toMatchObject({ code: "QUEUE_FULL", decision: { retryAfter: 300 } })
    await pass(200)
    wait("e")
    await pass(200)
    expect(had.filter((each) => each.includes("@"))).toEqual(["a@0", "b@100", "c@200", "e@300"])
  })

  test.each([
    [{ maxWait: 0 }, "maxWait must be whole milliseconds"],
    [{ maxWait: "soon" }, "maxWait must be whole milliseconds"],
    [{ maxWaiters: 0 }, "maxWaiters must be an integer, 1 or more, got 0"],
    [{ maxWaiters: 1.5 }, "maxWaiters must be an integer, 1 or more, got 1.5"],
  ])("takes no limiter with %o", (options, message) => {
    expect(() => setUp(even, options)).toThrow(message)
  })

  test.each([
    [{ timeout: "1s" }, 'an acquire has no field "timeout"'],
    [{ signal: true }, "signal must be an AbortSignal, got true"],
    [{ signal: {} }, "signal must be an AbortSignal, got an object"],
    [{ cost: 0 }, "cost must be an integer, 1 or more, got 0"],
  ])("refuses %o", async (options, message) => {
    const { limiter } = setUp(even)
    await expect(limiter.acquire("k", options as object)).rejects.toThrow(message)
  })
})

describe("tryAcquire with a timeout", () => {
  test("waits for a turn that comes in time", async () => {
    const { limiter, had, wait, pass, clock } = setUp(even)
    const start = clock()
    wait("a")
    const tried = limiter.tryAcquire("k", { timeout: 100 }).then(({ allowed }) => {
      had.push(`${allowed}@${clock() - start}`)
    })
    await pass(100)
    await tried
    expect(had).toEqual(["a@0", "true@100"])
  })

  test("refuses at once one that comes later, with the true retryAfter, and takes nothing", async () => {
    const { limiter, wait } = setUp(even)
    await wait("a")
    expect(await limiter.tryAcquire("k", { timeout: 99 })).toMatchObject({ allowed: false, retryAfter: 100 })
    expect(await limiter.peek("k")).toMatchObject({ retryAfter: 100 })
  })

  test("waits no longer than maxWait", async () => {
    const { limiter, wait } = setUp(even, { maxWait: 50 })
    await wait("a")
    expect(await limiter.tryAcquire("k", { timeout: "1h" })).toMatchObject({
      allowed: false,
      retryAfter: 100,
    })
  })

  test("with as many waiting as may has its turn now or not at all", async () => {
    const { limiter, wait } = setUp(even, { maxWaiters: 1 })
    wait("a")
    wait("b")
    expect(await limiter.tryAcquire("k", { timeout: "10s" })).toMatchObject({
      allowed: false,
      retryAfter: 200,
    })
    expect(await limiter.tryAcquire("other", { timeout: "10s" })).toMatchObject({ allowed: true })
  })

  test.each([[-1], [1.5], [Number.NaN], ["soon"], [null]])("refuses a timeout of %o", async (timeout) => {
    const { limiter } = setUp(even)
    await expect(limiter.tryAcquire("k", { timeout: timeout as number })).rejects.toThrow("timeout must be")
  })
})

describe("a wait that is given up", () => {
  test("rejects with the reason, and all behind it move up", async () => {
    const { had, wait, pass } = setUp(even)
    const gaveUp = new AbortController()
    wait("a")
    wait("b", { signal: gaveUp.signal })
    wait("c")
    wait("d")
    await settled()
    gaveUp.abort("enough")
    await pass(90)
    wait("e")
    await pass(300)
    expect(had).toEqual(["a@0", "b enough", "c@100", "d@200", "e@300"])
  })

  test("leaves what there was before, when all give up", async () => {
    for (const policy of [
      even,
      leakyBucket({ capacity: 9, leak: 1, every: 100 }),
      slidingLog({ limit: 1, window: 100 }),
      fixedWindow({ limit: 1, window: 100 }),
    ]) {
      const { limiter, wait } = setUp(policy)
      const gaveUp = new AbortController()
      await wait("a")
      const before = await limiter.peek("k")
      for (let i = 0; i < 5; i += 1) wait("b", { signal: gaveUp.signal })
      await settled()
      expect((await limiter.peek("k")).resetAfter).toBe(600)
      gaveUp.abort()
      await settled()
      expect(await limiter.peek("k")).toEqual(before)
    }
  })

  test("takes no turn if it was given up before", async () => {
    const { limiter, wait } = setUp(even)
    expect(await wait("a", { signal: AbortSignal.abort("no") })).toBe("no")
    await expect(limiter.tryAcquire("k", { signal: AbortSignal.abort("no") })).rejects.toBe("no")
    expect(await limiter.peek("k")).toMatchObject({ remaining: 1 })
  })

  test("has one listener on a signal that many wait by, and none when they are gone", async () => {
    const { clock, wait } = setUp(even)
    const gaveUp = new AbortController()
    const added = vi.spyOn(gaveUp.signal, "addEventListener")
    const removed = vi.spyOn(gaveUp.signal, "removeEventListener")
    await wait("first")
    const waits = Array.from({ length: 20 }, (_, i) => wait(`${i}`, { signal: gaveUp.signal }))
    await settled()
    expect(added).toHaveBeenCalledTimes(1)
    for (let i = 0; i < 20; i += 1) {
      clock.advance(100)
      await settled()
    }
    await Promise.all(waits)
    expect(removed).toHaveBeenCalledTimes(1)
  })
})

test("run waits for its turn and resolves with what the work resolves with, or rejects as it does", async () => {
  const { limiter, pass } = setUp(even)
  expect(await limiter.run("k", ({ remaining }) => remaining)).toBe(0)
  const failed = limiter.run("k", async () => Promise.reject(new Error("partner is down")))
  const expected = expect(failed).rejects.toThrow("partner is down")
  await pass(100)
  await expected
})

test("run takes nothing for what is no work", async () => {
  const { limiter } = setUp(even)
  for (const work of [undefined, 5] as never[]) {
    await expect(limiter.run("k", work)).rejects.toMatchObject({ code: "INVALID_OPTION" })
  }
  expect(await limiter.peek("k")).toMatchObject({ allowed: true })
})

describe("close", () => {
  test("ends every wait with CLOSED and gives the turns back", async () => {
    const clock = manualClock()
    const store = memoryStore({ clock })
    const limiter = createLimiter({ policy: even, store })
    await limiter.acquire("k")
    const waits = Array.from({ length: 5 }, () => limiter.acquire("k"))
    const expected = Promise.all(waits.map((each) => expect(each).rejects.toMatchObject({ code: "CLOSED" })))
    await limiter.close()
    await expected
    const another = createLimiter({ policy: even, store })
    expect(await another.peek("k")).toMatchObject({ retryAfter: 100 })
    await expect(limiter.acquire("k")).rejects.toMatchObject({ code: "CLOSED" })
  })
})
