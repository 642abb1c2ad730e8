import {
  type Cost,
  createLimiter,
  fixedWindow,
  memoryStore,
  type Policies,
  type Store,
  slidingLog,
  tokenBucket,
} from "sluice"
import { type RedisClient, redisStore } from "sluice/redis"
import { manualClock } from "sluice/testing"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { clientKinds } from "../support/clients.js"
import { dice } from "../support/dice.js"
import { type RedisServer, startCluster, startRedis } from "../support/redis-server.js"

let server: RedisServer
let cluster: Awaited<ReturnType<typeof startCluster>>
beforeAll(async () => {
  server = await startRedis()
  cluster = await startCluster(3)
})
afterAll(() => Promise.all([server, ...cluster.nodes].map((node) => node.stop())))

const bucket = tokenBucket({ capacity: 60_000, refill: 7, every: "1s" })
const steps = tokenBucket({ capacity: 70_000, refill: 3_000, every: "1m", mode: "interval" })
const window = fixedWindow({ limit: 80_000, window: "1m" })
const log = slidingLog({ limit: 60_000, window: "1m" })

const budgets: Record<string, Policies> = {
  "a bucket": bucket,
  steps,
  "a window": window,
  "a log": log,
  "a bucket and steps": { bucket, steps },
  "a bucket, a window and a log": { bucket, window, log },
  "two logs": { log, longer: slidingLog({ limit: 70_000, window: "1h" }) },
}

/** The decisions on 300 requests for a few keys, ten at a time, with costs up to 20,000, on a moving clock. */
async function askAll(name: string, policy: Policies, storeBy: (clock: () => number) => Store) {
  const clock = manualClock()
  const limiter = createLimiter({ name, policy, store: storeBy(clock) })
  const roll = dice(9)
  const names = "algorithm" in policy ? undefined : Object.keys(policy)
  const any = () => (roll(8) === 0 ? 1 : 1 + roll(10 ** (1 + roll(4)) * 2))
  const decisions: unknown[] = []
  for (let turn = 0; turn < 30; turn += 1) {
    const requests = Array.from({ length: 10 }, () => {
      const cost = names ? Object.fromEntries(names.map((each) => [each, any()])) : any()
      return limiter.tryAcquire(`k${roll(5)}`, { cost: cost as Cost<Policies> })
    })
    decisions.push(...(await Promise.all(requests)))
    clock.advance(roll(3) * 700)
  }
  await limiter.close()
  return decisions
}

describe.each(clientKinds)(
  "requests of different costs get the same decisions through $name as from memory",
  (kind) => {
    const on = async (client: RedisClient, topology: string, budget: string) => {
      const policy = budgets[budget] as Policies
      const name = `${kind.name}, ${topology}, ${budget}`
      const told = await askAll(name, policy, (clock) => redisStore(client, { clock, denyCache: false }))
      const expected = (await askAll(name, policy, (clock) => memoryStore({ clock }))) as {
        allowed: boolean
      }[]
      expect(told).toEqual(expected)
      expect(expected.filter(({ allowed }) => allowed).length).toBeGreaterThan(30)
      expect(expected.filter(({ allowed }) => !allowed).length).toBeGreaterThan(30)
    }

    test.each(Object.keys(budgets))("under %s", async (budget) => {
      const { client, close } = await kind.single(server.port)
      await on(client, "single", budget)
      await close()
    })

    test("in a Cluster", async () => {
      const { client, close } = await kind.cluster((cluster.nodes[0] as RedisServer).port)
      for (const budget of Object.keys(budgets)) await on(client, "cluster", budget)
      await close()
    })
  },
)
