import { Redis } from "ioredis"
import type { Policy } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import type { PolicyRequest, StoreRequest } from "sluice/store"
import { policyRef } from "sluice/store"
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

const moved = (policies: readonly PolicyRequest[], to: (policy: PolicyRequest) => Partial<PolicyRequest>) =>
  policies.map((policy) => ({ ...policy, ...to(policy) }))

const misplacing = (to: (policy: PolicyRequest) => Partial<PolicyRequest>) =>
  broken((store) => ({
    decide: (request) => store.decide({ ...request, policies: moved(request.policies, to) }),
    giveBack: (policies) => store.giveBack(moved(policies, to)),
  }))

const looser = (policy: Policy): Policy =>
  "limit" in policy ? { ...policy, limit: policy.limit * 2 } : { ...policy, capacity: policy.capacity * 2 }

/** For each law, stores that break it, and the least number of its cases that must fail. */
const breakers: readonly [law: number, how: string, least: number, breakIt: (rig: Rig) => Rig][] = [
  [
    1,
    "extends the expiry of a key it denies",
    14,
    broken((store) => ({
      async decide(request: StoreRequest) {
        const reply = await store.decide(request)
        for (const key of reply.granted > 0 ? [] : await client.keys("*")) await client.pexpire(key, 99_999)
        return reply
      },
    })),
  ],
  [
    1,
    "spends a unit on each denial",
    14,
    broken((store) => ({
      async decide(request: StoreRequest) {
        const reply = await store.decide(request)
        if (reply.granted > 0 || request.mode === "peek") return reply
        for (const policy of request.policies)
          await store.decide({ ...request, policies: [{ ...policy, cost: 1 }] })
        return reply
      },
    })),
  ],
  [
    2,
    "charges policies one by one",
    2,
    broken((store) => ({
      async decide(request: StoreRequest) {
        const replies = []
        for (const policy of request.policies)
          replies.push(await store.decide({ ...request, policies: [policy] }))
        return {
          granted: Math.min(...replies.map(({ granted }) => granted)),
          levels: replies.flatMap(({ levels }) => levels),
          at: replies[0]?.at ?? 0,
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
    "forgets states from before the clock went back",
    14,
    broken((store, { clock }) => {
      let latest = 0
      return {
        async decide(request: StoreRequest) {
          const now = clock()
          if (now < latest - 3_000_000) await store.forget(request.policies)
          latest = now
          return store.decide(request)
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
      const policies = (request: StoreRequest) =>
        request.policies.map((policy) => ({ ...policy, policy: rounded(policy.policy) }))
      return { decide: (request) => store.decide({ ...request, policies: policies(request) }) }
    }),
  ],
  [
    6,
    "keeps keys forever",
    14,
    broken((store) => ({
      async decide(request: StoreRequest) {
        const reply = await store.decide(request)
        for (const key of await client.keys("*")) await client.persist(key)
        return reply
      },
    })),
  ],
  [
    7,
    "spends nothing on one request in 37",
    14,
    broken((store) => {
      let requests = 0
      return {
        decide(request: StoreRequest) {
          requests += 1
          return store.decide(requests % 37 === 0 ? { ...request, mode: "peek" } : request)
        },
      }
    }),
  ],
  [
    8,
    "sends every request twice",
    14,
    broken((store) => ({
      async decide(request: StoreRequest) {
        const reply = await store.decide(request)
        await store.decide(request)
        return reply
      },
    })),
  ],
  [
    9,
    "throws on a denial",
    14,
    broken((store) => ({
      async decide(request: StoreRequest) {
        const reply = await store.decide(request)
        if (reply.granted === 0) throw new Error("denied")
        return reply
      },
    })),
  ],
  [10, "ignores the case of keys", 1, misplacing(({ key }) => ({ key: key.toLowerCase() }))],
  [
    10,
    "lets the policies of a record share a key",
    1,
    misplacing(({ ref }) => ({ ref: policyRef(ref.limiter, "one") })),
  ],
  [10, "cuts keys short", 1, misplacing(({ key }) => ({ key: key.slice(0, 4) }))],
  [10, "ignores the name of the limiter", 1, misplacing(({ ref }) => ({ ref: policyRef("one", ref.tail) }))],
  [
    11,
    "grants twice the limit",
    14,
    broken((store) => ({
      decide: (request) =>
        store.decide({
          ...request,
          policies: request.policies.map((policy) => ({ ...policy, policy: looser(policy.policy) })),
        }),
    })),
  ],
  [
    12,
    "starts from zero when parameters change",
    7,
    misplacing(({ key, policy }) => ({ key: `${key}${JSON.stringify(policy)}` })),
  ],
  [
    13,
    "gives everything back",
    14,
    broken((store) => ({
      giveBack: (policies) => store.forget(policies),
    })),
  ],
  [13, "ignores a reset", 14, broken(() => ({ forget() {} }))],
]

describe("the conformance suite detects", () => {
  test.each(breakers)("law %i: a store that %s", async (law, _how, least, breakIt) => {
    let failed = 0
    for (const { run } of conformance.filter((each) => each.law === law)) {
      await run(breakIt(await workshop.rig())).catch(() => {
        failed += 1
      })
    }
    expect(failed).toBeGreaterThanOrEqual(least)
  })

  test("at least one broken store for every law", () => {
    const laws = new Set(conformance.map(({ law }) => law))
    expect(new Set(breakers.map(([law]) => law))).toEqual(laws)
    expect([...laws].sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
  })

  test("nothing wrong in a store that is only wrapped", async () => {
    const untouched = broken(() => ({}))
    for (const { run } of conformance)
      await expect(run(untouched(await workshop.rig()))).resolves.toBeUndefined()
  })
})
