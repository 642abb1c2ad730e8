import { Redis } from "ioredis"
import type { Store } from "sluice"
import type { PolicyRequest, Settlement, StoreRequest, Turn } from "sluice/store"
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

/** A store that handles requests of one mode wrongly. */
const wrongly = (
  mode: StoreRequest["mode"],
  wrong: (store: Store, request: StoreRequest) => ReturnType<Store["decide"]>,
) =>
  broken((store) => ({
    decide: (request: StoreRequest) =>
      request.mode === mode ? wrong(store, request) : store.decide(request),
  }))

const forgetsOnTheWayBack = broken((store, { clock }) => {
  let latest = 0
  return {
    async decide(request: StoreRequest) {
      if (clock() < latest) await store.forget(request.policies)
      latest = clock()
      return store.decide(request)
    },
  }
})

/** A second `leave` of the same turn would be ignored, so it gives up the booking that gets the freed turn. */
const givenToTwo = broken((store) => {
  const left = new Set<number>()
  return {
    async leave(turn) {
      left.add(turn.at)
      await store.leave(turn)
    },
    async decide(request: StoreRequest) {
      const reply = await store.decide(request)
      const { granted, at, turn = at, receipt = [] } = reply
      const isFreed = request.mode === "book" && granted > 0 && turn > at && left.has(turn)
      if (isFreed) await store.leave({ policies: request.policies, at: turn, receipt })
      return reply
    },
  }
})

const keepForEver = async () => {
  for (const key of await client.keys("*")) await client.persist(key)
}

/** A store that ignores its notes of resets in one mode. */
const withoutMoments = broken((store) => {
  const clear = async () => {
    for (const key of await client.keys("*:fg")) await client.del(key)
  }
  return {
    async settle(settlement: Settlement) {
      await clear()
      return store.settle(settlement)
    },
    async giveBack(policies: readonly PolicyRequest[], at?: number) {
      await clear()
      return store.giveBack(policies, at)
    },
    async leave(turn: Turn) {
      await clear()
      return store.leave(turn)
    },
  }
})

/** The name of a case, a store that violates it, and the least number of cases that must fail. */
const breakers: readonly [says: string, how: string, least: number, breakIt: (rig: Rig) => Rig][] = [
  [
    "a denied turn writes nothing",
    "extends the expiry of a key when it denies a turn",
    14,
    wrongly("book", async (store, request) => {
      const reply = await store.decide(request)
      for (const key of reply.granted > 0 ? [] : await client.keys("*")) await client.pexpire(key, 99_999)
      return reply
    }),
  ],
  [
    "a denied turn has no effect",
    "books a turn that it denies",
    14,
    wrongly("book", async (store, request) => {
      const reply = await store.decide(request)
      if (reply.granted === 0) await store.decide({ ...request, maxWait: 1e9 })
      return reply
    }),
  ],
  ["a reset voids earlier reservations", "does not know of the reset", 12, withoutMoments],
  [
    "nothing spent or booked before a reset can be given back after it",
    "does not know of the reset",
    12,
    withoutMoments,
  ],
  [
    "turns booked after a reset can be given back",
    "treats turns booked at the moment of a reset as earlier",
    12,
    wrongly("book", async (store, request) => {
      const { receipt: [bookedAt, ...lines] = [], ...reply } = await store.decide(request)
      return bookedAt === undefined ? reply : { ...reply, receipt: [bookedAt - 1, ...lines] }
    }),
  ],
  [
    "a turn is booked under every policy",
    "books policies one by one",
    8,
    wrongly("book", async (store, request) => {
      const replies = []
      for (const policy of request.policies.toReversed())
        replies.unshift(await store.decide({ ...request, policies: [policy] }))
      return {
        granted: Math.min(...replies.map(({ granted }) => granted)),
        levels: replies.flatMap(({ levels }) => levels),
        at: replies[0]?.at ?? 0,
        turn: Math.max(...replies.map(({ turn = 0 }) => turn)),
        receipt: replies.flatMap(({ receipt = [] }) => receipt),
      }
    }),
  ],
  [
    "a turn comes exactly when",
    "gives every booking a turn now",
    30,
    wrongly("book", async (store, request) => {
      const reply = await store.decide(request)
      return reply.turn === undefined ? reply : { ...reply, turn: reply.at }
    }),
  ],
  [
    "a turn that is too far ahead",
    "does not report when a turn would come",
    14,
    wrongly("book", async (store, request) => {
      const { turn, ...reply } = await store.decide(request)
      return turn !== undefined && reply.granted > 0 ? { ...reply, turn } : reply
    }),
  ],
  [
    "retryAfter is exact behind booked turns",
    "keeps booked turns apart from spent units",
    20,
    broken((store) => ({
      async decide(request: StoreRequest) {
        const aside = { ...request, parts: request.policies.map((policy) => ({ ...policy, key: "line" })) }
        if (request.mode === "spend") await store.decide(aside)
        return store.decide(request.mode === "book" ? aside : request)
      },
    })),
  ],
  [
    "lets no request overtake booked turns",
    "forgets booked turns when the clock goes back",
    14,
    forgetsOnTheWayBack,
  ],
  [
    "every key written by a booking",
    "keeps freed turns forever",
    14,
    broken((store) => ({
      async leave(turn) {
        await store.leave(turn)
        await keepForEver()
      },
    })),
  ],
  [
    "every key written by a reservation",
    "keeps reservations forever",
    14,
    wrongly("reserve", async (store, request) => {
      const reply = await store.decide(request)
      await keepForEver()
      return reply
    }),
  ],
  [
    "50 concurrent bookings",
    "gives two bookings the same turn",
    14,
    broken((store) => {
      let last: ReturnType<Store["decide"]> | undefined
      return {
        decide(request: StoreRequest) {
          const [again, fresh] = [last, last ?? store.decide(request)]
          last = again === undefined ? fresh : undefined
          return fresh
        },
      }
    }),
  ],
  [
    "turns come in the order of their requests",
    "lets every third booking pass at once",
    14,
    broken((store) => {
      let requests = 0
      return {
        async decide(request: StoreRequest) {
          const reply = await store.decide(request)
          requests += 1
          return requests % 3 === 0 && reply.granted > 0 ? { ...reply, turn: reply.at } : reply
        },
      }
    }),
  ],
  ["turns given back before they come", "takes no turn back", 14, broken(() => ({ leave() {} }))],
  ["the last turn, given back", "takes no turn back", 12, broken(() => ({ leave() {} }))],
  ["a turn given back between others", "gives a freed turn to two bookings", 14, givenToTwo],
  [
    "a turn that has come can be given back",
    "forgets the time of a turn",
    14,
    broken((store) => ({ leave: ({ policies }) => store.giveBack(policies) })),
  ],
  [
    "a reservation is settled once",
    "settles a reservation more than once",
    14,
    broken((store) => ({
      async settle(settlement) {
        if (!(await store.settle(settlement))) await store.giveBack(settlement.back)
        return true
      },
    })),
  ],
  [
    "a cancelled reservation",
    "gives nothing back on cancel",
    14,
    broken((store) => ({ settle: (settlement) => store.settle({ ...settlement, back: [] }) })),
  ],
  [
    "settling above the estimate",
    "charges nothing beyond the estimate",
    14,
    broken((store) => ({ settle: (settlement) => store.settle({ ...settlement, more: [] }) })),
  ],
  [
    "a reservation gives nothing back once",
    "forgets the time of a spend",
    14,
    broken((store) => ({
      async settle(settlement) {
        const settled = await store.settle({ ...settlement, back: [] })
        if (settled) await store.giveBack(settlement.back)
        return settled
      },
    })),
  ],
  [
    "an expired reservation cannot",
    "settles expired reservations",
    14,
    wrongly("reserve", (store, request) =>
      store.decide(
        request.note === undefined
          ? request
          : { ...request, note: { ...request.note, lasts: 3_600_000_000 } },
      ),
    ),
  ],
  [
    "a denied reservation",
    "stores a note for a denied reservation",
    14,
    wrongly("reserve", async (store, request) => {
      const reply = await store.decide(request)
      if (reply.granted === 0)
        await store.decide({ ...request, policies: request.policies.map((p) => ({ ...p, cost: 1 })) })
      return reply
    }),
  ],
  [
    "units given back never admit more than the policy",
    "gives back more than was reserved",
    4,
    broken((store) => ({
      async settle(settlement) {
        const settled = await store.settle(settlement)
        await store.forget(settlement.back)
        return settled
      },
    })),
  ],
  [
    "a charge is spent",
    "charges nothing",
    14,
    wrongly("charge", (s, request) => s.decide({ ...request, mode: "peek" })),
  ],
  [
    "retryAfter is exact in debt",
    "counts a charge twice",
    20,
    broken((store) => {
      let charged: StoreRequest | undefined
      return {
        async decide(request: StoreRequest) {
          const again = request.mode === "spend" ? charged : undefined
          charged = request.mode === "charge" ? request : again === undefined ? charged : undefined
          const reply = await store.decide(request)
          if (again !== undefined) await store.decide(again)
          return reply
        },
      }
    }),
  ],
  [
    "debt delays later requests",
    "charges only what fits",
    12,
    wrongly("charge", (s, request) => s.decide({ ...request, mode: "spend" })),
  ],
  [
    "debt is bounded",
    "lets debt grow without a bound",
    10,
    wrongly("charge", (store, request) => store.decide({ ...request, maxWait: 3_600_000_000 })),
  ],
  ["cancels no debt", "forgets debt when the clock goes back", 14, forgetsOnTheWayBack],
]

describe("the conformance suite detects", () => {
  test.each(breakers)("%s: a store that %s", async (says, _how, least, breakIt) => {
    let failed = 0
    for (const { run } of conformance.filter(({ name }) => name.includes(says))) {
      await run(breakIt(await workshop.rig())).catch(() => {
        failed += 1
      })
    }
    expect(failed).toBeGreaterThanOrEqual(least)
  })
})
