import { Redis } from "ioredis"
import type { Ask, Part, Settlement, Store, Turn } from "sluice"
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

/** A store whose asks of one mode go wrong. */
const wrongly = (mode: Ask["mode"], wrong: (store: Store, ask: Ask) => ReturnType<Store["ask"]>) =>
  broken((store) => ({ ask: (ask: Ask) => (ask.mode === mode ? wrong(store, ask) : store.ask(ask)) }))

const forgetsOnTheWayBack = broken((store, { clock }) => {
  let latest = 0
  return {
    async ask(ask: Ask) {
      if (clock() < latest) await store.forget(ask.parts)
      latest = clock()
      return store.ask(ask)
    },
  }
})

const keepForEver = async () => {
  for (const key of await client.keys("*")) await client.persist(key)
}

/** One that has no notes of resets when it is asked for something. */
const withoutMoments = broken((store) => {
  const clear = async () => {
    for (const key of await client.keys("*:fg")) await client.del(key)
  }
  return {
    async settle(settlement: Settlement) {
      await clear()
      return store.settle(settlement)
    },
    async giveBack(parts: readonly Part[], at?: number) {
      await clear()
      return store.giveBack(parts, at)
    },
    async leave(turn: Turn) {
      await clear()
      return store.leave(turn)
    },
  }
})

/** What a case says, a store that does otherwise, and how many of the cases must notice at least. */
const breakers: readonly [says: string, how: string, least: number, breakIt: (rig: Rig) => Rig][] = [
  [
    "a turn that is refused changes nothing",
    "extends the expiry of a key where it refuses a turn",
    14,
    wrongly("book", async (store, ask) => {
      const answer = await store.ask(ask)
      for (const key of answer.granted > 0 ? [] : await client.keys("*")) await client.pexpire(key, 99_999)
      return answer
    }),
  ],
  [
    "a turn that is refused leaves nothing",
    "books a turn that it refuses",
    14,
    wrongly("book", async (store, ask) => {
      const answer = await store.ask(ask)
      if (answer.granted === 0) await store.ask({ ...ask, maxWait: 1e9 })
      return answer
    }),
  ],
  [
    "what was reserved before a reset is not given back after it",
    "does not know of the reset",
    12,
    withoutMoments,
  ],
  [
    "nothing that was spent or booked before a reset is given back after it",
    "does not know of the reset",
    12,
    withoutMoments,
  ],
  [
    "turns that are booked after a reset are given back",
    "takes turns that are booked at the moment of a reset for earlier",
    12,
    wrongly("book", async (store, ask) => {
      const { marks: [bookedAt, ...lines] = [], ...answer } = await store.ask(ask)
      return bookedAt === undefined ? answer : { ...answer, marks: [bookedAt - 1, ...lines] }
    }),
  ],
  [
    "a turn is booked under every policy",
    "books policies one by one",
    8,
    wrongly("book", async (store, ask) => {
      const answers = []
      for (const part of ask.parts.toReversed()) answers.unshift(await store.ask({ ...ask, parts: [part] }))
      return {
        granted: Math.min(...answers.map(({ granted }) => granted)),
        levels: answers.flatMap(({ levels }) => levels),
        at: answers[0]?.at ?? 0,
        turn: Math.max(...answers.map(({ turn = 0 }) => turn)),
        marks: answers.flatMap(({ marks = [] }) => marks),
      }
    }),
  ],
  [
    "a turn comes exactly when",
    "books everybody for now",
    30,
    wrongly("book", async (store, ask) => {
      const answer = await store.ask(ask)
      return answer.turn === undefined ? answer : { ...answer, turn: answer.at }
    }),
  ],
  [
    "a turn that is too far ahead",
    "does not say when a turn would be",
    14,
    wrongly("book", async (store, ask) => {
      const { turn, ...answer } = await store.ask(ask)
      return turn !== undefined && answer.granted > 0 ? { ...answer, turn } : answer
    }),
  ],
  [
    "retryAfter is exact behind booked turns",
    "keeps the line apart from what is spent",
    20,
    broken((store) => ({
      async ask(ask: Ask) {
        const aside = { ...ask, parts: ask.parts.map((part) => ({ ...part, key: "line" })) }
        if (ask.mode === "spend") await store.ask(aside)
        return store.ask(ask.mode === "book" ? aside : ask)
      },
    })),
  ],
  [
    "lets nobody go before those who wait",
    "forgets the line when the clock goes back",
    14,
    forgetsOnTheWayBack,
  ],
  [
    "every key that turns leave behind",
    "keeps turns that were left for ever",
    14,
    broken((store) => ({
      async leave(turn) {
        await store.leave(turn)
        await keepForEver()
      },
    })),
  ],
  [
    "every key that a reservation leaves",
    "keeps reservations for ever",
    14,
    wrongly("reserve", async (store, ask) => {
      const answer = await store.ask(ask)
      await keepForEver()
      return answer
    }),
  ],
  [
    "50 who book at once",
    "gives two the same turn",
    14,
    broken((store) => {
      let last: ReturnType<Store["ask"]> | undefined
      return {
        ask(ask: Ask) {
          const [again, fresh] = [last, last ?? store.ask(ask)]
          last = again === undefined ? fresh : undefined
          return fresh
        },
      }
    }),
  ],
  [
    "turns come in the order of asking",
    "lets every third go at once",
    14,
    broken((store) => {
      let asks = 0
      return {
        async ask(ask: Ask) {
          const answer = await store.ask(ask)
          asks += 1
          return asks % 3 === 0 && answer.granted > 0 ? { ...answer, turn: answer.at } : answer
        },
      }
    }),
  ],
  ["turns that are left before they come", "takes no turn back", 14, broken(() => ({ leave() {} }))],
  ["the last turn that is left", "takes no turn back", 12, broken(() => ({ leave() {} }))],
  [
    "a turn that is left behind others",
    "hands a turn that was left to two",
    14,
    broken((store) => ({
      async leave(turn) {
        await store.leave(turn)
        await store.leave(turn)
      },
    })),
  ],
  [
    "a turn that has come is given back",
    "forgets when a turn was",
    14,
    broken((store) => ({ leave: ({ parts }) => store.giveBack(parts) })),
  ],
  [
    "a reservation is settled once",
    "settles as often as it is asked to",
    14,
    broken((store) => ({
      async settle(settlement) {
        if (!(await store.settle(settlement))) await store.giveBack(settlement.back)
        return true
      },
    })),
  ],
  [
    "a reservation that is cancelled",
    "gives nothing of a reservation back",
    14,
    broken((store) => ({ settle: (settlement) => store.settle({ ...settlement, back: [] }) })),
  ],
  [
    "a reservation of too little",
    "charges nothing beyond the estimate",
    14,
    broken((store) => ({ settle: (settlement) => store.settle({ ...settlement, more: [] }) })),
  ],
  [
    "a reservation gives nothing back once",
    "forgets the moment of a debit",
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
    "a reservation whose time is over",
    "settles whatever was reserved, however long ago",
    14,
    wrongly("reserve", (store, ask) =>
      store.ask(ask.note === undefined ? ask : { ...ask, note: { ...ask.note, lasts: 3_600_000_000 } }),
    ),
  ],
  [
    "a reservation that is refused",
    "notes what it refuses",
    14,
    wrongly("reserve", async (store, ask) => {
      const answer = await store.ask(ask)
      if (answer.granted === 0) await store.ask({ ...ask, parts: ask.parts.map((p) => ({ ...p, cost: 1 })) })
      return answer
    }),
  ],
  [
    "what is given back of a debit never brings",
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
    wrongly("charge", (s, ask) => s.ask({ ...ask, mode: "peek" })),
  ],
  [
    "retryAfter is exact in debt",
    "counts what is charged twice, later",
    20,
    broken((store) => {
      let charged: Ask | undefined
      return {
        async ask(ask: Ask) {
          const again = ask.mode === "spend" ? charged : undefined
          charged = ask.mode === "charge" ? ask : again === undefined ? charged : undefined
          const answer = await store.ask(ask)
          if (again !== undefined) await store.ask(again)
          return answer
        },
      }
    }),
  ],
  [
    "debt delays later asks",
    "charges no more than there is room for",
    12,
    wrongly("charge", (s, ask) => s.ask({ ...ask, mode: "spend" })),
  ],
  [
    "debt is bounded",
    "lets debt grow with all that is charged",
    10,
    wrongly("charge", (store, ask) => store.ask({ ...ask, maxWait: 3_600_000_000 })),
  ],
  ["remits no debt", "forgets debt when the clock goes back", 14, forgetsOnTheWayBack],
]

describe("a store that does otherwise is found out", () => {
  test.each(breakers)("%s: one that %s", async (says, _how, least, breakIt) => {
    let failed = 0
    for (const { run } of conformance.filter(({ name }) => name.includes(says))) {
      await run(breakIt(await workshop.rig())).catch(() => {
        failed += 1
      })
    }
    expect(failed).toBeGreaterThanOrEqual(least)
  })
})
