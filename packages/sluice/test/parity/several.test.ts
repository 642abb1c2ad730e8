import fc from "fast-check"
import type { Redis } from "ioredis"
import { createLimiter, memoryStore, tokenBucket } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { type PolicyRequest, policyRef } from "sluice/store"
import { manualClock } from "sluice/testing"
import { afterAll, beforeAll, expect, test } from "vitest"
import { RedisKeys } from "../../src/stores/redis/keys.js"
import { libraryScript } from "../../src/stores/redis/library.js"
import {
  decodeReply,
  encodeCall,
  type LuaRequest,
  type QueuedRequest,
} from "../../src/stores/redis/protocol.js"
import { apply, type History, historyOfSeveral, type Operation } from "../support/histories.js"
import { reference } from "../support/reference.js"
import { varied } from "../support/seed.js"
import { type Comparison, startComparison } from "./compare.js"

let comparison: Comparison<Operation>
beforeAll(async () => {
  comparison = await startComparison()
})
afterAll(() => comparison.stop())

test("requests with several policies are granted all or nothing, as in TypeScript", async () => {
  await comparison.compare("several policies", historyOfSeveral(), { seed: varied(2_000), numRuns: 800 })
})

test.each([
  ["in records", (policy: PolicyRequest) => policy],
  // As in a combination of several limiters.
  [
    "under keys of their own",
    (policy: PolicyRequest) => ({ ...policy, ref: policyRef(`parity ${policy.ref.policy}`, "default") }),
  ],
])("many requests in one call are decided as one by one: %s", async (where, placed) => {
  const seed = varied(2_001)
  const [client] = comparison.clients as [Redis]
  const batches = fc.tuple(historyOfSeveral({ minLength: 20, maxLength: 60, size: "max" }), fc.nat(11))
  let calls = 0
  let asked = 0
  for (const [index, [history, width]] of fc.sample(batches, { seed, numRuns: 200 }).entries()) {
    const twin = reference()
    const names = new RedisKeys(`${where}-${index}`)
    for (const { at, operations } of batch(history, width + 2, placed)) {
      const requests = following(operations.map(askOf))
      const { keys, args } = encodeCall(names, String(at), requests)
      const reply = await client.eval(libraryScript.text, keys.length, ...keys, ...args)
      const expected = operations.map(
        (operation) => apply(twin, { ...operation, at }) ?? { granted: 0, levels: [], at },
      )
      expect(decodeReply(requests, reply), `call at ${at} of history ${index}, seed ${seed}`).toEqual(
        expected,
      )
      calls += 1
      asked += requests.length
    }
  }
  console.log(`many asks in one call, ${where}: ${calls} calls, ${asked} asks`)
})

/** The request to the script for an operation. */
function askOf(operation: Operation): LuaRequest {
  if (operation.call === "ask") {
    const { policies, count, mode } = operation.ask
    return { policies: policies, count, mode }
  }
  if (operation.call === "forget")
    return { policies: operation.places as PolicyRequest[], count: 1, mode: "forget" }
  return { policies: operation.policies, count: operation.debitedAt ?? -1, mode: "give" }
}

/** Requests with a flag whether an earlier one has one of their keys. */
function following(requests: readonly LuaRequest[]): QueuedRequest[] {
  const seen = new Set<string>()
  return requests.map((request) => {
    const repeatsKey = request.policies.some(({ key }) => seen.has(key))
    for (const { key } of request.policies) seen.add(key)
    return { ...request, repeatsKey }
  })
}

/** A history, `width` operations per call, with every policy where it is `placed`. A call happens at one moment. */
function batch(
  history: History,
  width: number,
  placed: (policy: PolicyRequest) => PolicyRequest,
): { at: number; operations: Operation[] }[] {
  const moved = history.map((operation): Operation => {
    if (operation.call === "ask") {
      return { ...operation, ask: { ...operation.ask, policies: operation.ask.policies.map(placed) } }
    }
    if (operation.call === "forget") {
      return { ...operation, places: (operation.places as PolicyRequest[]).map(placed) }
    }
    return { ...operation, policies: operation.policies.map(placed) }
  })
  return Array.from({ length: Math.ceil(moved.length / width) }, (_, i) => {
    const operations = moved.slice(i * width, (i + 1) * width)
    return { at: operations[0]?.at ?? 0, operations }
  })
}

test("a clock near zero gives the same replies", async () => {
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
