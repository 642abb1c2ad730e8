import { Redis } from "ioredis"
import { createLimiter, type Limiter, slidingLog } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { type ManualClock, manualClock } from "sluice/testing"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { redisKey } from "../support/redis-key.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"

let server: RedisServer
let client: Redis
const sizes = [100, 10_000] as const
const shapes = ["even", "uneven"] as const
type Shape = (typeof shapes)[number] | "steady"

/** A log filled to its limit, one unit per entry, on a clock of its own. */
interface Full {
  readonly limiter: Limiter
  readonly clock: ManualClock
  readonly size: number
  /** When its last unit was spent. The first was spent `size` milliseconds earlier. */
  readonly filledAt: number
}
const logs = new Map<string, Full>()

beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port, server.host)
  for (const size of sizes) {
    for (const shape of [...shapes, "steady"] as const) logs.set(`${shape} ${size}`, await fill(size, shape))
  }
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

/** Fills a log evenly, or more and more slowly. The window is as long as that took (steady), or twice as long. */
async function fill(size: number, shape: Shape): Promise<Full> {
  const clock = manualClock()
  const store = redisStore(ioredis(client), { clock, denyCache: false })
  const policy = slidingLog({ limit: size, window: shape === "steady" ? size : 2 * size })
  const limiter = createLimiter({ name: `${shape} ${size}`, policy, store })
  const start = clock()
  for (let i = 1; i <= size; i += 1) {
    clock.set(start + (shape !== "uneven" ? i : ((i / size) ** 3 * size + i / size) / (1 + 1 / size)))
    expect((await limiter.tryAcquire("k")).allowed).toBe(true)
  }
  // Redis expires keys by its own clock, which moves while the manual clock stands still.
  await client.persist(redisKey(`${shape} ${size}`, "k", "default", "sl"))
  return { limiter, clock, size, filledAt: clock() }
}

/** Microseconds per script call, by the statistics of Redis. */
async function cost(calls: number, request: () => Promise<unknown>): Promise<number> {
  await client.config("RESETSTAT")
  for (let i = 0; i < calls; i += 1) await request()
  const usec = /cmdstat_fcall:calls=\d+,usec=(\d+)/.exec(await client.info("commandstats"))?.[1]
  return Number(usec) / calls
}

/** How much more a decision costs on the large log than on the small one: median of interleaved rounds. */
async function ratio(shape: string, request: (log: Full) => Promise<unknown>): Promise<number> {
  const [small, large] = sizes.map((size) => logs.get(`${shape} ${size}`)) as [Full, Full]
  const ratios: number[] = []
  for (let round = 0; round < 9; round += 1) {
    const ofSmall = await cost(200, () => request(small))
    ratios.push((await cost(200, () => request(large))) / ofSmall)
  }
  return ratios.sort((a, b) => a - b)[4] as number
}

describe.each(shapes)(
  "a log of 10,000 entries, %s in time, costs at most twice as much as one of 100",
  (shape) => {
    test.each([
      ["a cost of one", () => 1],
      ["half the limit", (size: number) => size / 2],
      ["the whole limit", (size: number) => size],
    ])("when %s is denied", async (_what, costOf) => {
      const request = async ({ limiter, clock, size, filledAt }: Full) => {
        clock.set(filledAt)
        expect((await limiter.tryAcquire("k", { cost: costOf(size) })).allowed).toBe(false)
      }
      expect(await ratio(shape, request)).toBeLessThan(2)
    })

    test.each([0.1, 0.6, 0.95])(
      "when a denial finds a share of %d of the log expired and not removed",
      async (share) => {
        const request = async ({ limiter, clock, size, filledAt }: Full) => {
          clock.set(filledAt + size + share * size)
          expect((await limiter.tryAcquire("k", { cost: size })).allowed).toBe(false)
        }
        expect(await ratio(shape, request)).toBeLessThan(2)
      },
    )
  },
)

test("a log of 10,000 entries costs at most twice as much as one of 100 when one enters as another expires", async () => {
  const request = async ({ limiter, clock }: Full) => {
    clock.advance(1)
    const { allowed, remaining } = await limiter.tryAcquire("k")
    expect([allowed, remaining]).toEqual([true, 0])
  }
  expect(await ratio("steady", request)).toBeLessThan(2)
})

test("a log of 200 grants takes less than a quarter of the memory of a sorted set", async () => {
  const clock = manualClock()
  const limiter = createLimiter({
    name: "memory",
    policy: slidingLog({ limit: 200, window: "1m" }),
    store: redisStore(ioredis(client), { clock, denyCache: false }),
  })
  for (let i = 0; i < 200; i += 1) {
    await limiter.tryAcquire("k")
    await client.zadd("set", clock(), `${clock()}-${String(i).padStart(3, "0")}`)
    clock.advance(1)
  }
  const ours = Number(await client.memory("USAGE", redisKey("memory", "k", "default", "sl"), "SAMPLES", 0))
  const theirs = Number(await client.memory("USAGE", "set", "SAMPLES", 0))
  expect(ours).toBeLessThan(theirs / 4)
})
