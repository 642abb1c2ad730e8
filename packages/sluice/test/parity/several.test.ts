import fc from "fast-check"
import type { Redis } from "ioredis"
import { createLimiter, memoryStore, type Part, scopeOf, tokenBucket } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { manualClock } from "sluice/testing"
import { afterAll, beforeAll, expect, test } from "vitest"
import { encodeAsks, type ScriptAsk, type SentAsk } from "../../src/stores/redis/call.js"
import { RedisKeys } from "../../src/stores/redis/redis-keys.js"
import { decodeAnswers } from "../../src/stores/redis/reply.js"
import { apply, type History, historyOfSeveral, type Operation } from "../support/histories.js"
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

test.each([
  ["in records", (part: Part) => part],
  // as those of several limiters are that are combined
  [
    "under keys of their own",
    (part: Part) => ({ ...part, scope: scopeOf(`parity ${part.scope.policy}`, "default") }),
  ],
])("many asks in one call are answered as one by one: %s", async (where, placed) => {
  const seed = 2_001
  const [client] = comparison.clients as [Redis]
  const batches = fc.tuple(historyOfSeveral({ minLength: 20, maxLength: 60, size: "max" }), fc.nat(11))
  let calls = 0
  let asked = 0
  for (const [index, [history, width]] of fc.sample(batches, { seed, numRuns: 400 }).entries()) {
    const twin = reference()
    const names = new RedisKeys(`${where}-${index}`)
    for (const { at, operations } of batch(history, width + 2, placed)) {
      const asks = following(operations.map(askOf))
      const { script, keys, args } = encodeAsks(names, String(at), asks)
      const reply = await client.eval(script.source, keys.length, ...keys, ...args)
      const expected = operations.map(
        (operation) => apply(twin, { ...operation, at }) ?? { granted: 0, levels: [], at },
      )
      expect(decodeAnswers(asks, reply), `call at ${at} of history ${index}, seed ${seed}`).toEqual(expected)
      calls += 1
      asked += asks.length
    }
  }
  console.log(`many asks in one call, ${where}: ${calls} calls, ${asked} asks`)
})

/** What the script is asked for an operation. */
function askOf(operation: Operation): ScriptAsk {
  if (operation.call === "ask") {
    const { parts, count, mode } = operation.ask
    return { parts, count, mode }
  }
  if (operation.call === "forget") return { parts: operation.places as Part[], count: 1, mode: "forget" }
  return { parts: operation.parts, count: operation.debitedAt ?? -1, mode: "give" }
}

/** Asks that know whether one before them has one of their keys. */
function following(asks: readonly ScriptAsk[]): SentAsk[] {
  const seen = new Set<string>()
  return asks.map((ask) => {
    const follows = ask.parts.some(({ key }) => seen.has(key))
    for (const { key } of ask.parts) seen.add(key)
    return { ...ask, follows }
  })
}

/** A history, `width` operations at a time, with every part where it is `placed`; a call happens at one moment. */
function batch(
  history: History,
  width: number,
  placed: (part: Part) => Part,
): { at: number; operations: Operation[] }[] {
  const moved = history.map((operation): Operation => {
    if (operation.call === "ask") {
      return { ...operation, ask: { ...operation.ask, parts: operation.ask.parts.map(placed) } }
    }
    if (operation.call === "forget") {
      return { ...operation, places: (operation.places as Part[]).map(placed) }
    }
    return { ...operation, parts: operation.parts.map(placed) }
  })
  return Array.from({ length: Math.ceil(moved.length / width) }, (_, i) => {
    const operations = moved.slice(i * width, (i + 1) * width)
    return { at: operations[0]?.at ?? 0, operations }
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
