import { Redis } from "ioredis"
import type { Ask, Part, Policy } from "sluice"
import { scopeOf } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { conformance, type Rig } from "sluice/testing"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { broken } from "../support/broken.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import { ioredisWorkshop, type Workshop } from "../support/rigs.js"

let server: RedisServer
let workshop: Workshop
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  workshop = await ioredisWorkshop(server)
  client = new Redis(server.port, server.host)
})
afterAll(async () => {
  client.disconnect()
  await workshop.close()
  await server.stop()
})

const moved = (parts: readonly Part[], to: (part: Part) => Partial<Part>) =>
  parts.map((part) => ({ ...part, ...to(part) }))

const misplacing = (to: (part: Part) => Partial<Part>) =>
  broken((store) => ({
    ask: (ask) => store.ask({ ...ask, parts: moved(ask.parts, to) }),
    giveBack: (parts) => store.giveBack(moved(parts, to)),
  }))

const looser = (policy: Policy): Policy =>
  "limit" in policy ? { ...policy, limit: policy.limit * 2 } : { ...policy, capacity: policy.capacity * 2 }

/** For each law a store that breaks it, and how many of the law's cases must notice at least. */
const breakers: readonly [law: number, how: string, least: number, breakIt: (rig: Rig) => Rig][] = [
  [
    1,
    "extends the expiry of a key it denies",
    14,
    broken((store) => ({
      async ask(ask: Ask) {
        const answer = await store.ask(ask)
        for (const key of answer.granted > 0 ? [] : await client.keys("*")) await client.pexpire(key, 99_999)
        return answer
      },
    })),
  ],
  [
    1,
    "spends a unit on each denial",
    14,
    broken((store) => ({
      async ask(ask: Ask) {
        const answer = await store.ask(ask)
        if (answer.granted > 0 || ask.mode === "peek") return answer
        for (const part of ask.parts) await store.ask({ ...ask, parts: [{ ...part, cost: 1 }] })
        return answer
      },
    })),
  ],
  [
    2,
    "charges policies one by one",
    2,
    broken((store) => ({
      async ask(ask: Ask) {
        const answers = []
        for (const part of ask.parts) answers.push(await store.ask({ ...ask, parts: [part] }))
        return {
          granted: Math.min(...answers.map(({ granted }) => granted)),
          levels: answers.flatMap(({ levels }) => levels),
          at: answers[0]?.at ?? 0,
        }
      },
    })),
  ],
  [
    3,
    "counts in steps of 10 milliseconds",
    14,
    (rig) => {
      const { clock } = rig
      const coarse = () => Math.floor(clock() / 10) * 10
      return { ...rig, stores: [redisStore(ioredis(client), { clock: coarse })] }
    },
  ],
  [
    4,
    "forgets what the clock cannot explain",
    14,
    broken((store, { clock }) => {
      let latest = 0
      return {
        async ask(ask: Ask) {
          const now = clock()
          if (now < latest - 3_000_000) await store.forget(ask.parts)
          latest = now
          return store.ask(ask)
        },
      }
    }),
  ],
  [
    4,
    "never lets its clock go back",
    14,
    (rig) => {
      let latest = 0
      const clock = () => {
        latest = Math.max(latest, rig.clock())
        return latest
      }
      return { ...rig, stores: [redisStore(ioredis(client), { clock })] }
    },
  ],
  [
    5,
    "rounds the time of a unit to whole milliseconds",
    6,
    broken((store) => {
      const rounded = (policy: Policy): Policy => {
        if (policy.algorithm === "tokenBucket")
          return { ...policy, refill: 1, every: Math.max(1, Math.round(policy.every / policy.refill)) }
        if (policy.algorithm === "leakyBucket")
          return { ...policy, leak: 1, every: Math.max(1, Math.round(policy.every / policy.leak)) }
        return policy
      }
      const parts = (ask: Ask) => ask.parts.map((part) => ({ ...part, policy: rounded(part.policy) }))
      return { ask: (ask) => store.ask({ ...ask, parts: parts(ask) }) }
    }),
  ],
  [
    6,
    "keeps keys for ever",
    14,
    broken((store) => ({
      async ask(ask: Ask) {
        const answer = await store.ask(ask)
        for (const key of await client.keys("*")) await client.persist(key)
        return answer
      },
    })),
  ],
  [
    7,
    "spends nothing on one ask in 37",
    14,
    broken((store) => {
      let asks = 0
      return {
        ask(ask: Ask) {
          asks += 1
          return store.ask(asks % 37 === 0 ? { ...ask, mode: "peek" } : ask)
        },
      }
    }),
  ],
  [
    8,
    "sends every ask twice",
    14,
    broken((store) => ({
      async ask(ask: Ask) {
        const answer = await store.ask(ask)
        await store.ask(ask)
        return answer
      },
    })),
  ],
  [
    9,
    "throws what it denies",
    14,
    broken((store) => ({
      async ask(ask: Ask) {
        const answer = await store.ask(ask)
        if (answer.granted === 0) throw new Error("denied")
        return answer
      },
    })),
  ],
  [10, "folds the case of keys", 1, misplacing(({ key }) => ({ key: key.toLowerCase() }))],
  [
    10,
    "lets the policies of a record share a key",
    1,
    misplacing(({ scope }) => ({ scope: scopeOf(scope.limiter, "one") })),
  ],
  [10, "cuts keys short", 1, misplacing(({ key }) => ({ key: key.slice(0, 4) }))],
  [
    10,
    "takes no notice of the name of a limiter",
    1,
    misplacing(({ scope }) => ({ scope: scopeOf("one", scope.tail) })),
  ],
  [
    11,
    "grants twice the limit",
    14,
    broken((store) => ({
      ask: (ask) =>
        store.ask({ ...ask, parts: ask.parts.map((part) => ({ ...part, policy: looser(part.policy) })) }),
    })),
  ],
  [
    12,
    "starts afresh when parameters change",
    7,
    misplacing(({ key, policy }) => ({ key: `${key}${JSON.stringify(policy)}` })),
  ],
  [
    13,
    "gives everything back",
    14,
    broken((store) => ({
      giveBack: (parts) => store.forget(parts),
    })),
  ],
  [13, "ignores a reset", 14, broken(() => ({ forget() {} }))],
]

describe("a store that breaks a law is found out", () => {
  test.each(breakers)("law %i: one that %s", async (law, _how, least, breakIt) => {
    let failed = 0
    for (const { run } of conformance.filter((each) => each.law === law)) {
      await run(breakIt(await workshop.rig())).catch(() => {
        failed += 1
      })
    }
    expect(failed).toBeGreaterThanOrEqual(least)
  })

  test("and every law has one", () => {
    const laws = new Set(conformance.map(({ law }) => law))
    expect(new Set(breakers.map(([law]) => law))).toEqual(laws)
    expect([...laws].sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
  })

  test("while a wrapper that changes nothing passes", async () => {
    const untouched = broken(() => ({}))
    for (const { run } of conformance)
      await expect(run(untouched(await workshop.rig()))).resolves.toBeUndefined()
  })
})
