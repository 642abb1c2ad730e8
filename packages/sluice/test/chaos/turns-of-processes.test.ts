import { Redis } from "ioredis"
import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { boundOf, boundWithReturns, checkBound } from "../support/bounds.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import { type Booking, type Shift, startTurnWorkers, type TurnReport } from "../support/turn-workers.js"
import type { Workers } from "../support/workers.js"

// Document 004: 50 workers, 10 turns each with a pause after each, at 16 per 10 s. Here in a fiftieth of the time.
const every = 200
const drip = (every * 1_000) / 16
const policies: [name: string, policy: Policy, atOnce: number][] = [
  ["tokenBucket", tokenBucket({ capacity: 16, refill: 16, every }), 16],
  ["leakyBucket", leakyBucket({ capacity: 64, leak: 16, every }), 1],
  ["fixedWindow", fixedWindow({ limit: 16, window: every }), 16],
  ["slidingLog", slidingLog({ limit: 16, window: every }), 16],
  ["slidingWindow", slidingWindow({ limit: 16, window: every }), 16],
]

let server: RedisServer
let processes: Workers<readonly Shift[], readonly TurnReport[]>
beforeAll(async () => {
  server = await startRedis()
  processes = await startTurnWorkers(server.port, 4)
})
afterAll(async () => {
  await processes.kill()
  await server.stop()
})

/** The events of every process under each policy. All policies run concurrently. */
async function shift(name: string, some: Partial<Shift>, counts = [13, 13, 12, 12]) {
  const tasks = counts.map((workers, i) =>
    policies.map(
      ([kind, policy]): Shift => ({
        name: `${name} ${kind}`,
        policy,
        workers,
        turns: 10,
        pause: 2,
        aborts: 0,
        seed: i + 1,
        ...some,
      }),
    ),
  )
  const reports = await processes.work(tasks)
  return policies.map(([kind, policy, atOnce], i) => ({
    kind,
    policy,
    atOnce,
    reports: reports.map((report) => report[i] as TurnReport),
  }))
}

const byTurn = (a: Booking, b: Booking) => a.turn - b.turn
const byAsking = (a: Booking, b: Booking) => a.at - b.at || a.turn - b.turn

describe("50 workers in four processes take 10 turns each", () => {
  let done: Awaited<ReturnType<typeof shift>>
  beforeAll(async () => {
    done = await shift("calm", {})
  })

  test("within the bound in every span, at most 5 % over the least possible time, in the order of requests", () => {
    for (const { kind, policy, atOnce, reports } of done) {
      const turns = reports.flatMap(({ bookings }) => bookings).sort(byTurn)
      expect(turns, kind).toHaveLength(500)
      checkBound(
        boundOf(policy),
        turns.map(({ turn }) => ({ at: turn, units: 1 })),
      )
      const [first, last] = [turns[0] as Booking, turns.at(-1) as Booking]
      const spent = last.turn - first.turn
      expect(spent / leastTime(policy, 500, atOnce), kind).toBeLessThanOrEqual(1.05)

      const asked = reports.flatMap(({ bookings }) => bookings).sort(byAsking)
      for (const [i, { turn }] of asked.slice(1).entries()) {
        expect(turn, `${kind}, turn ${i + 1}`).toBeGreaterThanOrEqual((asked[i] as Booking).turn)
      }
    }
  })

  test("of a leaky bucket at exactly even intervals", () => {
    const leaky = done.find(({ kind }) => kind === "leakyBucket")
    const turns = leaky?.reports.flatMap(({ bookings }) => bookings).sort(byTurn) ?? []
    const gaps = turns.slice(1).map(({ turn }, i) => turn - (turns[i] as Booking).turn)
    expect(new Set(gaps)).toEqual(new Set([drip]))
  })

  test("and are woken in that order and never before their turn", () => {
    for (const { kind, reports } of done) {
      const late: number[] = []
      for (const { had, bookings } of reports) {
        const turns = [...bookings].sort(byTurn)
        for (const [i, { wokeAt }] of had.entries()) late.push(wokeAt - (turns[i] as Booking).turn)
      }
      // The clock of the test has a resolution of milliseconds.
      expect(Math.min(...late), kind).toBeGreaterThan(-1_000)
      late.sort((a, b) => a - b)
      const at = (share: number) =>
        ((late[Math.floor((late.length - 1) * share)] as number) / 1_000).toFixed(1)
      console.log(`${kind}: woken after ${at(0.5)} ms (median), ${at(0.99)} ms (99 %), ${at(1)} ms (most)`)
    }
  })
})

/** The turns that were booked and not given back, in order. */
function turnsHad(reports: readonly TurnReport[]): number[] {
  const turns = reports.flatMap(({ bookings }) => bookings.map(({ turn }) => turn))
  for (const left of reports.flatMap((report) => report.left)) turns.splice(turns.indexOf(left), 1)
  return turns.sort((a, b) => a - b)
}

test("if two in five waiters abort, the others pass in order and the freed turns are reused", async () => {
  const done = await shift("wild", { aborts: 0.4, pause: 0 })
  for (const { kind, policy, atOnce, reports } of done) {
    const aborted = reports.reduce((sum, report) => sum + report.aborted, 0)
    const turns = turnsHad(reports)
    expect(turns.length + aborted, kind).toBe(500)
    expect(aborted, kind).toBeGreaterThan(50)
    for (const report of reports) {
      expect(report.bookings.length - report.left.length, kind).toBe(report.had.length)
      const orders = report.had.map(({ order }) => order)
      expect(orders, kind).toEqual(orders.toSorted((a, b) => a - b))
    }
    checkBound(
      boundWithReturns(policy),
      turns.map((at) => ({ at, units: 1 })),
    )
    const spent = (turns.at(-1) as number) - (turns[0] as number)
    // At the end, a turn that was given back before turns of other processes may pass unused.
    const least = leastTime(policy, turns.length, atOnce)
    expect((spent - every * 1_000) / least, kind).toBeLessThanOrEqual(1.05)
    await expectNothingBooked(kind, policy)
  }
})

/** Once all turns are over, the next request passes. */
async function expectNothingBooked(kind: string, policy: Policy): Promise<void> {
  const client = new Redis(server.port, server.host)
  const limiter = createLimiter({ name: `wild ${kind}`, policy, store: redisStore(ioredis(client)) })
  await new Promise((resolve) => setTimeout(resolve, every + 20))
  expect((await limiter.tryAcquire("k")).allowed, kind).toBe(true)
  await limiter.close()
  client.disconnect()
}

/** Microseconds between the first and the last of these turns, if none passes unused. */
function leastTime({ algorithm }: Policy, turns: number, atOnce: number): number {
  const together = algorithm === "leakyBucket" || algorithm === "tokenBucket" ? 1 : 16
  return Math.ceil((turns - atOnce) / together) * drip * together
}
