import fc from "fast-check"
import type { Redis } from "ioredis"
import { type Ask, createLimiter, memoryStore, type Part, tokenBucket } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { manualClock } from "sluice/testing"
import { afterAll, beforeAll, expect, test } from "vitest"
import { decodeAnswers, encodeAsks } from "../../src/stores/redis/call.js"
import { RedisKeys } from "../../src/stores/redis/redis-keys.js"
import { type History, historyOfSeveral, type Operation } from "../support/histories.js"
import { reference } from "../support/reference.js"
import { type Comparison, startComparison } from "./compare.js"

let comparison: Comparison<Operation>
beforeAll(async () => {
  comparison = await startComparison()
})
afterAll(() => comparison.stop())

test("asks of several policies are granted all or nothing, as in TypeScript", async () => {
  await comparison.compare("several policies", historyOfSeveral(), { seed: 2_000, numRuns: 2_000 })
})

test("many asks in one call are answered as one by one", async () => {
  const seed = 2_001
  const [client] = comparison.clients as [Redis]
  const batches = fc.tuple(historyOfSeveral({ minLength: 20, maxLength: 60, size: "max" }), fc.nat(11))
  let calls = 0
  let asked = 0
  for (const [index, [history, width]] of fc.sample(batches, { seed, numRuns: 400 }).entries()) {
    const twin = reference()
    const names = new RedisKeys(`batch-${index}`)
    const keyOf = (part: Part) => names.of(part)
    for (const { at, asks } of batch(history, width + 2)) {
      const { script, keys, args } = encodeAsks(keyOf, String(at), following(asks))
      const reply = await client.eval(script.source, keys.length, ...keys, ...args)
      const expected = asks.map((ask) => twin.ask(ask, at))
      expect(decodeAnswers(asks, reply), `call at ${at} of history ${index}, seed ${seed}`).toEqual(expected)
      calls += 1
      asked += asks.length
    }
  }
  console.log(`many asks in one call: ${calls} calls, ${asked} asks`)
})

/** Asks that know whether one before them has one of their keys. */
function following<A extends Pick<Ask, "parts">>(asks: readonly A[]): (A & { follows: boolean })[] {
  const seen = new Set<string>()
  return asks.map((ask) => {
    const follows = ask.parts.some(({ key }) => seen.has(key))
    for (const { key } of ask.parts) seen.add(key)
    return { ...ask, follows }
  })
}

/** The asks of a history, `width` at a time; a call happens at one moment. */
function batch(history: History, width: number): { at: number; asks: Omit<Ask, "note">[] }[] {
  const asks = history.filter((operation) => operation.call === "ask")
  return Array.from({ length: Math.ceil(asks.length / width) }, (_, i) => {
    const group = asks.slice(i * width, (i + 1) * width)
    return { at: group[0]?.at ?? 0, asks: group.map(({ ask }) => ask) }
  })
}

test("a clock that starts at zero is told the same, also below it", async () => {
  const clock = manualClock(0)
  const steady = tokenBucket({ capacity: 2, refill: 2, every: "1s" })
  const steps = tokenBucket({ capacity: 4, refill: 2, every: "1s", mode: "interval" })
  const [client] = comparison.clients as [Redis]
  const stores = [memoryStore({ clock }), redisStore(ioredis(client), { clock, prefix: "zero" })]
  const seen = stores.map(async (store) => {
    const limiter = createLimiter({ policy: steady, store })
    await limiter.tryAcquire("k")
    await limiter.tryAcquire("k", { policy: steps })
    await limiter.refund("k", 3, { policy: steps })
    return [await limiter.peek("k"), await limiter.peek("k", { policy: steps })]
  })
  const [memory, redis] = await Promise.all(seen)
  expect(redis).toEqual(memory)
})
