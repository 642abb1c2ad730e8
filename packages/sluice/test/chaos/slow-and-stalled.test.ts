import { setTimeout as sleep } from "node:timers/promises"
import { createLimiter, type Limiter, type SluiceError, tokenBucket } from "sluice"
import { redisStore } from "sluice/redis"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { type Connection, clients, LATE } from "../support/chaos.js"
import { watchPauses } from "../support/pauses.js"
import { startProxy, type TcpProxy } from "../support/proxy.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"

const policy = tokenBucket({ capacity: 1_000_000, refill: 1, every: "1s" })
/** The most requests that wait for a call, and the most calls in flight: docs/design/batching.md. */
const [MOST_WAITING, MOST_CALLS] = [100_000, 64]

let server: RedisServer
let proxy: TcpProxy
let connection: Connection
beforeEach(async () => {
  server = await startRedis()
  proxy = await startProxy(server.port)
  connection = await clients.ioredis(proxy.port)
})
afterEach(async () => {
  connection.close()
  await proxy.close()
  await server.stop()
})

/** Keeps callers busy, each with keys of its own, and notes how each request ended. */
function startCallers(limiter: Limiter, count: number) {
  const calls: { readonly startedAt: number; readonly endedAt: number }[] = []
  const failures: string[] = []
  let [over, named] = [false, 0]
  const call = async () => {
    while (!over) {
      named += 1
      const startedAt = performance.now()
      const failed = await limiter.tryAcquire(`k${named}`).then(
        () => false,
        ({ code }: SluiceError) => failures.push(code) > 0,
      )
      calls.push({ startedAt, endedAt: performance.now() })
      // A circuit that is open fails at once. Other requests must get a turn of the event loop.
      if (failed) await sleep(10)
    }
  }
  const callers = Array.from({ length: count }, call)
  return {
    calls,
    failures,
    async end() {
      over = true
      await Promise.all(callers)
    },
  }
}

/** The most calls on the wire at any look within so many milliseconds, or until there are more than `enough`. */
async function mostInFlight(ms: number, enough = Number.POSITIVE_INFINITY): Promise<number> {
  let most = 0
  for (const endsAt = performance.now() + ms; performance.now() < endsAt && most <= enough; await sleep(2)) {
    most = Math.max(most, proxy.callsInFlight)
  }
  return most
}

describe("a Redis that becomes slower and slower", () => {
  test("gets fewer calls at a time, and more again once it is as fast as before", async () => {
    const limiter = createLimiter({
      name: "slow",
      policy,
      store: redisStore(connection.client),
      outage: { deadline: 30_000 },
    })
    // Even near, it is so far away that a machine with other work adds little to it.
    const [near, far] = [200, 900]
    proxy.delay(near)
    const callers = startCallers(limiter, 2_000)
    await sleep(1_000)
    // 2,000 requests are 20 calls of 100.
    const distant = Math.max(await mostInFlight(3_000, 10), await mostInFlight(300))
    for (const ms of [400, 600, 800]) {
      proxy.delay(ms)
      await sleep(400)
    }
    proxy.delay(far)
    await sleep(1_800)
    const slow = await mostInFlight(600)
    proxy.delay(near)
    const again = await mostInFlight(5_000, slow)
    await callers.end()
    await limiter.close()

    expect(distant).toBeGreaterThan(10)
    expect(slow).toBeLessThanOrEqual(distant / 2)
    expect(again).toBeGreaterThan(slow)
    expect(callers.failures).toEqual([])
  })
})

describe("a Redis that stands still", () => {
  test("holds no request beyond its deadline, gets no pile of calls, and answers again when it goes on", async () => {
    const deadline = 500
    const limiter = createLimiter({
      name: "stalled",
      policy,
      store: redisStore(connection.client),
      outage: { deadline },
    })
    const watched = watchPauses()
    const callers = startCallers(limiter, 500)
    await sleep(300)
    process.kill(server.pid, "SIGSTOP")
    const early = await mostInFlight(500)
    const most = await mostInFlight(2_500)
    process.kill(server.pid, "SIGCONT")
    await sleep(1_000)
    const failedBefore = callers.failures.length
    await mostInFlight(300)
    const failedAfter = callers.failures.length
    await callers.end()
    await limiter.close()
    const pauses = watched.stop()

    expect(failedBefore).toBeGreaterThan(0)
    expect(failedAfter).toBe(failedBefore)
    expect(most).toBeLessThanOrEqual(MOST_CALLS)
    // Then it gets two calls a second, in which it would answer if it could.
    expect(most - early).toBeLessThanOrEqual(2 * 3)
    expect(pauses.worst(callers.calls, deadline)).toBeLessThan(LATE)
  })

  test("refuses the requests that its queue cannot hold, at once, and ends the others at their deadline", async () => {
    const deadline = 2_000
    const limiter = createLimiter({
      name: "flood",
      policy,
      store: redisStore(connection.client),
      outage: { deadline },
    })
    await limiter.tryAcquire("first")
    process.kill(server.pid, "SIGSTOP")
    const excess = 5_000
    const count = MOST_WAITING + excess
    let refusedAtOnce = 0
    const requests = Array.from({ length: count }, (_, i) =>
      limiter.tryAcquire(`k${i}`).catch(({ message }: SluiceError) => {
        if (message.includes("wait for Redis already")) refusedAtOnce += 1
      }),
    )
    const watched = watchPauses()
    const startedAt = performance.now()
    await sleep(0)
    expect(refusedAtOnce).toBe(excess)
    await Promise.all(requests)
    const all = { startedAt, endedAt: performance.now() }
    // Settling a hundred thousand promises takes this process a while, too.
    expect(watched.stop().lateness(all, deadline)).toBeLessThan(1_500)
    process.kill(server.pid, "SIGCONT")

    // The server first works on the requests that were queued.
    const endsAt = performance.now() + 20_000
    const answered = () =>
      limiter
        .tryAcquire("last")
        .then(({ allowed }) => allowed)
        .catch(() => false)
    while (!(await answered())) {
      expect(performance.now()).toBeLessThan(endsAt)
      await sleep(20)
    }
    await limiter.close()
  })
})
