import { setTimeout as sleep } from "node:timers/promises"
import { createLimiter, type OutagePolicy, SluiceError, tokenBucket } from "sluice"
import { redisStore } from "sluice/redis"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { clients, DEADLINE, LATE, report } from "../support/chaos.js"
import { census, leftOver, timersAndListeners } from "../support/leaks.js"
import { watchPauses } from "../support/pauses.js"
import { startProxy, type TcpProxy } from "../support/proxy.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"

let server: RedisServer
let proxy: TcpProxy
beforeEach(async () => {
  server = await startRedis()
  proxy = await startProxy(server.port)
})
afterEach(async () => {
  await proxy.close()
  await server.stop()
})

const OUTAGE = 1_500
/** A turn every 5 ms, and ten at once. */
const rate = 200
const burst = 10
const policy = tokenBucket({ capacity: burst, refill: rate, every: "1s" })

interface Wait {
  readonly startedAt: number
  readonly endedAt: number
  readonly outcome: "had" | "had without" | "STORE_REFUSED" | "STORE_UNKNOWN"
}

const faults: Record<"SIGKILL" | "SIGSTOP", () => Promise<void>> = {
  async SIGKILL() {
    await server.kill()
    await sleep(OUTAGE)
    await server.restart()
  },
  async SIGSTOP() {
    process.kill(server.pid, "SIGSTOP")
    await sleep(OUTAGE)
    process.kill(server.pid, "SIGCONT")
  },
}

describe.each(["SIGKILL", "SIGSTOP"] as const)(
  "200 who wait for their turn while the server gets a %s",
  (fault) => {
    test.each<[keyof typeof clients, OutagePolicy]>([
      ["ioredis", "throw"],
      ["node-redis", "closed"],
      ["ioredis", { local: 0.5 }],
      ["node-redis", "open"],
      ["glide", "throw"],
    ])(
      "get their turn or an error in time, and everything recovers afterwards, through %s, then %o",
      async (client, then) => {
        const before = census()
        const { client: redis, emitter, close } = await clients[client](proxy.port)
        const whatIsOurs = () => timersAndListeners(census({ client: emitter }))
        const opened = whatIsOurs()
        const limiter = createLimiter({
          name: "turns",
          policy,
          store: redisStore(redis),
          outage: { deadline: DEADLINE, then },
        })
        const watched = watchPauses()
        const waits: Wait[] = []
        const strangers: unknown[] = []
        const waiter = async () => {
          const startedAt = performance.now()
          const end = (outcome: Wait["outcome"]) =>
            waits.push({ startedAt, endedAt: performance.now(), outcome })
          try {
            const { degraded } = await limiter.acquire("k")
            end(degraded ? "had without" : "had")
          } catch (error) {
            if (!(error instanceof SluiceError) || !error.code.startsWith("STORE_")) strangers.push(error)
            else end(error.code as Wait["outcome"])
          }
        }
        let over = false
        const startedAt = performance.now()
        const waiters = Array.from({ length: 200 }, async () => {
          while (!over) {
            await waiter()
            await sleep(10)
          }
        })
        await sleep(400)
        const struckAt = performance.now()
        await faults[fault]()
        const healedAt = performance.now()
        const had = (from: number) =>
          waits.filter(({ outcome, endedAt }) => outcome === "had" && endedAt > from).length
        while (had(healedAt) < 50 && performance.now() - healedAt < 10_000) await sleep(10)
        const recovery = performance.now() - healedAt
        over = true
        await Promise.all(waiters)
        const seconds = (performance.now() - startedAt) / 1_000
        const pauses = watched.stop()

        const count = (outcome: Wait["outcome"]) => waits.filter((wait) => wait.outcome === outcome).length
        const failed = waits.filter(({ outcome }) => outcome.startsWith("STORE_"))
        const late = pauses.worst(failed, DEADLINE)
        // 200 waiters at a turn every 5 ms, and those delayed by the outage.
        const longestWait = Math.max(...waits.map((wait) => wait.endedAt - wait.startedAt))
        const figures = {
          had: count("had"),
          without: count("had without"),
          refused: count("STORE_REFUSED"),
          unknown: count("STORE_UNKNOWN"),
          late,
          longestWait,
          paused: pauses.between(startedAt, healedAt),
          recovery,
        }
        report(`waiting, ${fault}, ${client}, ${JSON.stringify(then)}`, figures)
        expect(strangers).toEqual([])
        expect(late).toBeLessThanOrEqual(LATE)
        if (then === "throw" || then === "closed") {
          expect(failed.length).toBeGreaterThan(0)
          expect(count("had without")).toBe(0)
        } else {
          expect(failed).toEqual([])
          expect(count("had without")).toBeGreaterThan(0)
        }
        expect(waits.some(({ endedAt }) => endedAt > struckAt && endedAt < healedAt)).toBe(true)
        expect(recovery).toBeLessThan(5_000)
        // An empty server has a full bucket and no queue.
        const forgotten = fault === "SIGKILL" ? burst + 200 : 0
        expect(count("had")).toBeLessThanOrEqual(burst + rate * seconds + forgotten)

        // No turn stays booked for a waiter that was denied.
        await sleep(100)
        const { resetAfter } = await limiter.peek("k")
        expect(resetAfter).toBeLessThan(500)
        await limiter.close()
        expect(await leftOver(opened, whatIsOurs)).toEqual({})
        close()
        expect(await leftOver(before)).toEqual({})
      },
    )
  },
)
