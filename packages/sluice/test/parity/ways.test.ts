import fc from "fast-check"
import { Redis } from "ioredis"
import { type Part, type Policy, scopeOf, slidingLog } from "sluice"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { type Call, encodeAsks, type SentAsk } from "../../src/stores/redis/call.js"
import { RedisKeys } from "../../src/stores/redis/redis-keys.js"
import { type Kind, kinds, limitOf, periodOf, relativesOf } from "../support/policy-kinds.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port, server.host)
})
// what a record holds of others would keep every call out of the lane
beforeEach(() => client.flushall())
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const scopes = { one: scopeOf("ways", "one"), other: scopeOf("ways", "other") }
/** Of policies that have no names of their own, and so no record either. */
const alone = scopeOf("ways", "default")
const elsewhere = scopeOf("elsewhere", "default")
/** Kept as a list, between two that may be in a record. */
const listed = { scope: scopeOf("ways", "listed"), policy: slidingLog({ limit: 400, window: 1_000 }) }

/** A way to answer a call: what it is given as arguments, and what is made of its script. */
interface Way {
  args(args: readonly string[], asks: readonly SentAsk[]): readonly string[]
  source?(source: string): string
}

/** The same call, so that a script answers it in its lane, by plain functions, and step by step. */
const ways: Record<string, Way> = {
  lane: { args: (args) => args },
  plain: { args: byPlans },
  step: { args: byPlans, source: withoutPlain },
}

/** A script that knows no plain functions. */
function withoutPlain(source: string): string {
  const known = "local plain, writers, sizes = {}, {}, {}"
  expect(source.split(known)).toHaveLength(2)
  return source.replace(
    known,
    "local plain, writers, sizes = setmetatable({}, { __newindex = function() end }), {}, {}",
  )
}

/** The arguments of a call with a plan for each ask, and none of what a lane needs. */
function byPlans([now]: readonly string[], asks: readonly SentAsk[]): string[] {
  // of an ask alone, the plan has its count and its costs
  const planOf = (ask: SentAsk) => encodeAsks(new RedisKeys("any"), "", [{ ...ask, follows: false }]).args[1]
  const plans = asks.map((ask) => planOf(ask)?.slice(1, -1))
  return [now as string, `[${plans.join()}]`, JSON.stringify(asks.map((_, i) => i + 1)), "1"]
}

/** Has asks answered in every way, each on keys of its own; what the lane was given. */
async function answerAlike(asks: readonly SentAsk[], at: number, where: string): Promise<readonly string[]> {
  const calls = Object.entries(ways).map(([name, way]) => {
    const names = new RedisKeys(name)
    return { way, ...encodeAsks(names, String(at), asks) }
  })
  const seen = await Promise.all(
    calls.map(async ({ way, script, keys, args }) => {
      const source = way.source?.(script.source) ?? script.source
      const reply = await client.eval(source, keys.length, ...keys, ...way.args(args, asks))
      return { reply, stored: await Promise.all(keys.map((key) => client.dumpBuffer(key))) }
    }),
  )
  expect(seen[1], `plain, ${where}`).toEqual(seen[0])
  expect(seen[2], `step, ${where}`).toEqual(seen[0])
  return (calls[0] as Call).args
}

const anyKey = fc.constantFrom("a", "b", "c", "d")
const anyShare = fc.constantFrom(0, 0, 0.01, 0.1, 0.4, 1, 3)

/**
 * Spends of some keys under two policies or one of them, which read the same state, `moves` periods after the last; under two
 * that have keys of their own; or under two with a third between them.
 */
const callOf = fc.record({
  keys: fc.oneof(
    fc.uniqueArray(anyKey, { minLength: 1 }),
    fc.array(anyKey, { minLength: 2, maxLength: 6, size: "max" }),
  ),
  under: fc.constantFrom("one", "other", "both", "alone", "apart", "three"),
  // of the limit, by ask, and under a second policy from the other end
  shares: fc.oneof(
    anyShare.map((share) => [share]),
    fc.array(anyShare, { minLength: 6, maxLength: 6 }),
  ),
  counts: fc.oneof(
    fc.constantFrom([1], [1], [2], [5]),
    fc.array(fc.constantFrom(1, 1, 2, 5, 127, 128), { minLength: 4, maxLength: 4 }),
  ),
  moves: fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(0, 0.01, 0.3, 1, 1.01) },
    fc.constantFrom(-0.2, -5, 40),
  ),
})

/** Two that are related, or one of each kind. */
const pairOf = (kind: Kind, other: Kind) =>
  kind === other
    ? relativesOf(kind)
    : fc.tuple(relativesOf(kind), relativesOf(other)).map(([[first], [second]]) => [first, second])

const historyOf = (kind: Kind, other: Kind) =>
  fc.tuple(pairOf(kind, other), fc.array(callOf, { minLength: 10, maxLength: 40, size: "max" }))

const pairs: [Kind, Kind][] = [
  ...kinds.map((kind): [Kind, Kind] => [kind, kind]),
  ["tokenBucket continuous", "fixedWindow first"],
  ["fixedWindow clock", "leakyBucket"],
  ["fixedWindow first", "slidingLog"],
  ["tokenBucket interval", "tokenBucket continuous"],
  ["tokenBucket interval", "fixedWindow first"],
]

test.each(pairs)("asks under %s and %s are answered and stored alike in every way", async (kind, other) => {
  const seed = 3_000
  const seen = { inLane: 0, byCounts: 0, byCosts: 0, twice: 0, both: 0, apart: 0, three: 0 }
  for (const [index, [policies, calls]] of fc
    .sample(historyOf(kind, other), { seed, numRuns: 60 })
    .entries()) {
    let at = 1_700_000_000_000_000
    for (const [step, { keys, under, shares, counts, moves }] of calls.entries()) {
      const policy = policies[under === "other" ? 1 : 0] as Policy
      at = Math.max(0, at + Math.round(moves * Math.min(periodOf(policy), 1e14)))
      const costUnder = (policy: Policy, share = 0) => Math.max(1, Math.round(share * limitOf(policy)))
      const asks = keys.map((name, i): SentAsk => {
        const key = `${index}-${name}`
        const [share, otherShare] = [shares[i % shares.length], shares.at(-1 - (i % shares.length))]
        const isApart = under === "alone" || under === "apart"
        const first: Part = {
          scope: isApart ? alone : scopes.one,
          key,
          policy,
          cost: costUnder(policy, share),
        }
        const another = policies[1] as Policy
        const second: Part = {
          scope: isApart ? elsewhere : scopes.other,
          key,
          policy: another,
          cost: costUnder(another, otherShare),
        }
        const between: Part = { ...listed, key, cost: costUnder(listed.policy, otherShare) }
        const parts =
          under === "three"
            ? [first, between, second]
            : under === "both" || under === "apart"
              ? [first, second]
              : [first]
        const count = counts[i % counts.length] as number
        return { parts, count, mode: "spend", follows: keys.indexOf(name) < i }
      })
      const args = await answerAlike(asks, at, `call ${step} of history ${index}, seed ${seed}`)
      if (args.length <= 4) continue
      const differ = args[2] === "" ? 0 : (args[2] as string).charCodeAt(0)
      seen.inLane += 1
      if (args[2] !== "") seen.byCounts += 1
      if (differ % 16 > 0) seen.byCosts += 1
      if (differ >= 16) seen.twice += 1
      if (under === "both" || under === "apart" || under === "three") seen[under] += 1
    }
  }
  expect(seen.inLane).toBeGreaterThan(400)
  expect(seen.byCounts).toBeGreaterThan(100)
  expect(seen.byCosts).toBeGreaterThan(40)
  expect(seen.twice).toBeGreaterThan(100)
  for (const layout of ["both", "apart", "three"] as const) expect(seen[layout]).toBeGreaterThan(40)
})

test("however many entries have left a log, it is answered and stored alike in every way", async () => {
  const window = 1_000
  const policy = slidingLog({ limit: 100, window })
  const begin = 1_700_000_000_000_000
  for (let left = 0; left <= 40; left += 1) {
    const part: Part = { scope: scopes.one, key: `${left} left`, policy, cost: 1 }
    const ask: SentAsk = { parts: [part], count: 1, mode: "spend", follows: false }
    for (let entry = 0; entry < 45; entry += 1) await answerAlike([ask], begin + entry * 1_000, "filling")
    // the last of them has left this microsecond
    const at = begin + (left - 1 + window) * 1_000
    const args = await answerAlike([ask], at, `${left} have left`)
    expect(args.length).toBeGreaterThan(4)
  }
})
