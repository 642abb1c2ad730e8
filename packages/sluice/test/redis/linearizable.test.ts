import { setTimeout as sleep } from "node:timers/promises"
import { Redis } from "ioredis"
import { createLimiter, fixedWindow, type Store } from "sluice"
import { ioredis, type RedisClient, redisStore } from "sluice/redis"
import type { StoreReply, StoreRequest } from "sluice/store"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { askInBursts, type Recorded } from "../support/bursts.js"
import { violationIn } from "../support/linearizable.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import { type Requesters, startRequesters } from "../support/requester-processes.js"

const PROCESSES = 4
const SECOND = 1e9
const keys = ["a", "b", "c", "d"]

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

const answeredBy = (source: Recorded["source"]) => (operation: Recorded) => operation.source === source
const isGift = ({ kind }: Recorded) => kind === "refund" || kind === "reset"
const was = (allowed: boolean) => (operation: Recorded) =>
  operation.kind === "ask" && operation.allowed === allowed

/** The report on the first key whose history is not linearizable. */
function firstViolation(operations: readonly Recorded[], limit: number): string | undefined {
  for (const key of keys) {
    const report = violationIn(
      operations.filter((operation) => operation.key === key),
      limit,
    )
    if (report !== undefined) return `${key}: ${report}`
  }
  return undefined
}

describe("four processes with concurrent batches", () => {
  let requesters: Requesters
  beforeAll(async () => {
    requesters = await startRequesters(server.port, PROCESSES)
  })
  afterAll(() => requesters?.stop())

  async function history(name: string, limit: number, gifts: boolean): Promise<Recorded[]> {
    const tasks = Array.from({ length: PROCESSES }, (_, i) => {
      const load = { by: `process ${i}`, seed: 1_000 + i, keys, operations: 1_500, gifts }
      return { name, limit, load }
    })
    const works = await requesters.work(tasks)
    for (const { operations, calls } of works) expect(calls).toBeLessThan(operations.length / 2)
    const recorded = works.flatMap(({ operations }) => operations)
    expect(contended(recorded).length).toBeGreaterThan(500)
    return recorded
  }

  test("never see state older than one second if nothing is given back", async () => {
    const limit = 2_000
    const recorded = await history("spends", limit, false)
    const operations = recorded.map((each) =>
      answeredBy("cache")(each) ? { ...each, invokedAt: each.invokedAt - SECOND } : each,
    )
    expect(operations.filter(was(true)).length).toBeGreaterThan(500)
    expect(operations.filter(was(false)).length).toBeGreaterThan(500)
    expect(firstViolation(operations, limit)).toBeUndefined()
    for (const key of keys) {
      const spent = operations.filter((each) => each.key === key && was(true)(each))
      expect(spent.reduce((sum, each) => sum + ("cost" in each ? each.cost : 0), 0)).toBeLessThanOrEqual(
        limit,
      )
    }
  })

  test("have a linearizable history, including refunds and resets", async () => {
    const limit = 150
    await loadScripts()
    const recorded = await history("gifts", limit, true)
    // A cached denial may miss refunds by other processes for up to one second.
    const operations = recorded.filter((each) => isGift(each) || answeredBy("store")(each))
    expect(operations.filter(was(true)).length).toBeGreaterThan(500)
    expect(operations.filter(was(false)).length).toBeGreaterThan(50)
    expect(operations.filter(isGift).length).toBeGreaterThan(500)
    expect(firstViolation(operations, limit)).toBeUndefined()
  })
})

/**
 * Has Redis know every script. A call that comes back for its text is decided behind later ones of its process, which
 * is no violation, but leaves the search without a hint of the order.
 */
async function loadScripts(): Promise<void> {
  const client = new Redis(server.port, server.host)
  const limiter = createLimiter({
    policy: fixedWindow({ limit: 9, window: "1d" }),
    store: redisStore(ioredis(client)),
  })
  for (const call of ["tryAcquire", "peek", "reset"] as const) await limiter[call]("warm")
  await Promise.all([limiter.tryAcquire("warm"), limiter.refund("warm", 1), limiter.reset("warm")])
  client.disconnect()
}

/** Operations in flight on a key while another process started to use it. */
function contended(operations: readonly Recorded[]): Recorded[] {
  return operations.filter(({ key, by, invokedAt, respondedAt }) =>
    operations.some(
      (other) =>
        other.by !== by && other.key === key && other.invokedAt > invokedAt && other.invokedAt < respondedAt,
    ),
  )
}

interface Breakage {
  client?(through: RedisClient): RedisClient
  store?(through: Store): Partial<Store>
}

const alike = ({ mode, policies }: StoreRequest) =>
  JSON.stringify([mode, policies.map(({ key, cost }) => [key, cost])])

/** Operations that continue after their caller got a reply. */
const late: Promise<void>[] = []

const breakages: readonly [how: string, breakage: Breakage][] = [
  [
    "a call is sent twice",
    {
      client: (through) => ({
        ...through,
        run: async (...call) => {
          await through.run(...call)
          return through.run(...call)
        },
      }),
    },
  ],
  [
    "the keys of a call are shifted by one",
    {
      client: (through) => ({
        ...through,
        run: (command, script, [first, ...others], args) =>
          through.run(command, script, [...others, ...(first === undefined ? [] : [first])], args),
      }),
    },
  ],
  [
    "each reply goes to the previous caller",
    {
      store(through) {
        let asked: { ask: StoreRequest; answer: (reply: StoreReply | Promise<StoreReply>) => void }[] = []
        const send = () => {
          const batch = asked
          asked = []
          const replies = batch.map(({ ask: request }) => through.decide(request))
          for (const [i, { answer: reply }] of batch.entries())
            reply(replies[(i + 1) % batch.length] as Promise<StoreReply>)
        }
        return {
          decide: (request) =>
            new Promise((reply) => {
              if (asked.length === 0) queueMicrotask(send)
              asked.push({ ask: request, answer: reply })
            }),
        }
      },
    },
  ],
  [
    "equal requests of one tick share the reply of one",
    {
      store(through) {
        const asked = new Map<string, StoreReply | PromiseLike<StoreReply>>()
        return {
          decide(request) {
            if (asked.size === 0) queueMicrotask(() => asked.clear())
            const reply = asked.get(alike(request)) ?? through.decide(request)
            asked.set(alike(request), reply)
            return reply
          },
        }
      },
    },
  ],
  [
    "a denial is repeated after a refund",
    {
      store(through) {
        const denials = new Map<string, StoreReply>()
        return {
          async decide(request) {
            const reply = denials.get(alike(request)) ?? (await through.decide(request))
            if (reply.granted === 0 && request.mode === "spend") denials.set(alike(request), reply)
            return reply
          },
        }
      },
    },
  ],
  ["a refund is lost", { store: () => ({ giveBack() {} }) }],
  [
    "a refund resolves before it is made",
    {
      store: (through) => ({
        giveBack(policies) {
          late.push(sleep(5).then(() => through.giveBack(policies)))
        },
      }),
    },
  ],
]

describe("the test detects a broken batcher", () => {
  let clients: Redis[]
  beforeAll(() => {
    clients = Array.from({ length: 2 }, () => new Redis(server.port, server.host))
  })
  afterAll(() => {
    for (const client of clients) client.disconnect()
  })

  async function violationOf(name: string, { client, store }: Breakage): Promise<string | undefined> {
    // So small that many requests are denied, and pass after a refund. With 100, one history in three had too few of them.
    const limit = 20
    const histories = clients.map((redis, i) => {
      const real = redisStore(client === undefined ? ioredis(redis) : client(ioredis(redis)))
      const limiter = createLimiter({
        name,
        policy: fixedWindow({ limit, window: "1d" }),
        store: { ...real, ...store?.(real) },
      })
      return askInBursts(limiter, { by: `client ${i}`, seed: i, keys, operations: 300, gifts: true })
    })
    const operations = (await Promise.all(histories)).flat()
    await Promise.all(late)
    return firstViolation(
      operations.filter((each) => isGift(each) || answeredBy("store")(each)),
      limit,
    )
  }

  test("an intact batcher passes", async () => {
    expect(await violationOf("whole", {})).toBeUndefined()
  })

  test.each(breakages)("%s", async (how, breakage) => {
    expect(await violationOf(how, breakage)).toContain("no order explains")
  })
})
