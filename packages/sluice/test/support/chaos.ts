import type { EventEmitter } from "node:events"
import { appendFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { GlideClient } from "@valkey/valkey-glide"
import { Redis } from "ioredis"
import { createClient } from "redis"
import {
  createLimiter,
  type Decision,
  fixedWindow,
  type OutageChange,
  type OutagePolicy,
  SluiceError,
  tokenBucket,
} from "sluice"
import { glide, ioredis, nodeRedis, type RedisClient, type RedisStoreOptions, redisStore } from "sluice/redis"
import { strict } from "./clients.js"
import { watchPauses } from "./pauses.js"
import { unguarded } from "./unguarded.js"

/** Milliseconds that a call may be late. Pauses of the machine do not count: `pauses.ts`. */
export const LATE = 50
/** Milliseconds. */
export const DEADLINE = 500
/** The deadline where some callers must not be affected: a process delayed for longer would time out every call. */
export const CALM = 2_000
/** So large that no request is ever denied. */
const PLENTY = 1_000_000
/** The policy of the shared key. */
export const shared = { capacity: 50, refill: 100 }

export interface Connection {
  readonly client: RedisClient
  /** The event emitters of the client, if it has any. */
  readonly emitter?: EventEmitter
  close(): void
}

/** Clients of a single server, with the settings that docs/redis.md asks for. */
export const clients: Record<"ioredis" | "node-redis" | "glide", (port: number) => Promise<Connection>> = {
  async ioredis(port) {
    const client = new Redis(port, "127.0.0.1", { ...strict, lazyConnect: true }).on("error", () => {})
    await client.connect()
    return { client: ioredis(client), emitter: client, close: () => client.disconnect() }
  },
  async "node-redis"(port) {
    const client = createClient({ socket: { port, host: "127.0.0.1" } }).on("error", () => {})
    await client.connect()
    return { client: nodeRedis(client), emitter: client, close: () => client.destroy() }
  },
  async glide(port) {
    const client = await GlideClient.createClient({
      addresses: [{ port, host: "127.0.0.1" }],
      requestTimeout: 1_000,
    })
    return { client: glide(client), close: () => client.close() }
  },
}

/** The outcome of one call. */
export interface Call {
  readonly key: string
  readonly startedAt: number
  readonly endedAt: number
  readonly outcome: "allowed" | "denied" | "STORE_REFUSED" | "STORE_UNKNOWN"
  readonly degraded: boolean
}

interface Terms {
  readonly then: OutagePolicy
  /** Milliseconds. */
  readonly deadline?: number
  /** Whether the shared key is spent from leases. */
  readonly lease?: boolean
}

export type Siege = ReturnType<typeof besiege>

/**
 * Keeps 200 callers busy with a store. Half of them use a new key for every request, which is never denied. A request that is
 * sent twice shows on the wire. The others share one key.
 */
export function besiege(
  client: RedisClient,
  { then, deadline = DEADLINE, lease = false, ...options }: Terms & RedisStoreOptions,
  nameOf: (n: number) => string = (n) => `ask-${n}`,
) {
  const store = redisStore(client, options)
  const changes: OutageChange[] = []
  const outage = { deadline, then, onChange: (change: OutageChange) => changes.push(change) }
  const each = createLimiter({
    name: "each",
    policy: fixedWindow({ limit: PLENTY, window: "1h" }),
    store,
    outage,
  })
  const all = createLimiter({
    name: "all",
    policy: tokenBucket({ ...shared, every: "1s" }),
    store,
    outage,
    lease,
  })
  const ofEach: Call[] = []
  const ofAll: Call[] = []
  const strangers: unknown[] = []
  const unhandled = (error: unknown) => strangers.push(error)
  process.on("unhandledRejection", unhandled)
  const watched = watchPauses()
  let over = false
  let named = 0

  const time = async (calls: Call[], key: string, request: () => Promise<Decision>) => {
    const startedAt = performance.now()
    const end = (outcome: Call["outcome"], degraded = false) => {
      const call = { key, startedAt, endedAt: performance.now(), outcome, degraded }
      calls.push(call)
      return call
    }
    try {
      const { allowed, degraded } = await request()
      return end(allowed ? "allowed" : "denied", degraded)
    } catch (error) {
      const code = error instanceof SluiceError ? error.code : undefined
      if (code === "STORE_REFUSED" || code === "STORE_UNKNOWN") return end(code)
      strangers.push(error)
      return undefined
    }
  }
  const askOnce = (keyOf = nameOf) => {
    named += 1
    const key = keyOf(named)
    return time(ofEach, key, () => each.tryAcquire(key))
  }
  const caller = async (request: () => Promise<unknown>) => {
    while (!over) {
      await request()
      await sleep(20 + Math.random() * 40)
    }
  }
  const startedAt = performance.now()
  const callers = Array.from({ length: 200 }, (_, i) =>
    caller(i % 2 === 0 ? () => askOnce() : () => time(ofAll, "k", () => all.tryAcquire("k"))),
  )

  return {
    store,
    each,
    changes,
    ofEach,
    ofAll,

    /** Milliseconds until the store replied again to a caller of such keys. */
    async recovery(keyOf = nameOf): Promise<number> {
      const from = performance.now()
      for (;;) {
        const call = await askOnce(keyOf)
        if (call?.outcome === "allowed" && !call.degraded) return performance.now() - from
        if (performance.now() - from > 20_000) throw new Error("the store has not come back")
        await sleep(5)
      }
    },

    /** Stops the callers and returns their outcomes. */
    async end(fault: string) {
      over = true
      await Promise.all(callers)
      const seconds = (performance.now() - startedAt) / 1_000
      const pauses = watched.stop()
      process.off("unhandledRejection", unhandled)
      const calls = [...ofEach, ...ofAll]
      const count = (outcome: Call["outcome"]) => calls.filter((call) => call.outcome === outcome).length
      const longest = calls.reduce((most, call) => Math.max(most, call.endedAt - call.startedAt), 0)
      const paused = pauses.between(startedAt, performance.now())
      const admitted = ofAll.filter(({ outcome }) => outcome === "allowed")
      const told = {
        seconds,
        calls: calls.length,
        allowed: count("allowed"),
        denied: count("denied"),
        refused: count("STORE_REFUSED"),
        unknown: count("STORE_UNKNOWN"),
        degraded: calls.filter(({ degraded }) => degraded).length,
        longest,
        /** Milliseconds in which this process could not run. */
        paused,
        /** Milliseconds by which the slowest call was late. */
        late: pauses.worst(calls, deadline),
        /** How many requests of the shared key passed, by the store and without it. */
        admitted: admitted.filter(({ degraded }) => !degraded).length,
        admittedWithout: admitted.filter(({ degraded }) => degraded).length,
        /** By how many units they exceeded the policy, in any span of time. */
        excess: excessOf(admitted.filter(({ degraded }) => !degraded)),
        strangers,
      }
      report(fault, told)
      return told
    },

    /** The most units that any key has spent in Redis, and the sum over all keys. */
    async spent() {
      const keys = [...new Set(ofEach.map(({ key }) => key))]
      const looks = createLimiter({
        name: "each",
        policy: fixedWindow({ limit: PLENTY, window: "1h" }),
        // Without a deadline, whose timer would still be pending in the check for leaks.
        store: unguarded(redisStore(client, options)),
      })
      const units = await Promise.all(keys.map(async (key) => PLENTY - (await looks.peek(key)).remaining))
      return { most: Math.max(...units), total: units.reduce((sum, unit) => sum + unit, 0) }
    },

    /** How many of 200 requests of a fresh key pass if the limit is 50. */
    async admitsOf50(): Promise<number> {
      const limiter = createLimiter({
        name: "exact",
        policy: fixedWindow({ limit: 50, window: "1h" }),
        store: unguarded(store),
      })
      const decisions = await Promise.all(Array.from({ length: 200 }, () => limiter.tryAcquire("fresh")))
      return decisions.filter(({ allowed }) => allowed).length
    },

    async close(): Promise<void> {
      await Promise.all([each.close(), all.close()])
    },
  }
}

/**
 * By how many units the calls of the shared key exceeded its bucket, in the worst span of time. Calls that started and ended
 * within a span were decided in it.
 */
function excessOf(admitted: readonly Call[]): number {
  const byEnd = admitted.toSorted((a, b) => a.endedAt - b.endedAt)
  let worst = Number.NEGATIVE_INFINITY
  for (const { startedAt: from } of admitted) {
    let units = 0
    for (const { startedAt, endedAt } of byEnd) {
      if (startedAt < from) continue
      units += 1
      worst = Math.max(worst, units - shared.capacity - ((endedAt - from) / 1_000) * shared.refill)
    }
  }
  return worst
}

/** How many calls the store may have allowed between two moments. */
export function grantedBetween(calls: readonly Call[], from: number, to: number): number {
  const within = ({ startedAt, endedAt }: Call) => endedAt >= from && startedAt <= to
  return calls.filter((call) => call.outcome === "allowed" && !call.degraded && within(call)).length
}

/** Adds the figures of a run to the file that CHAOS_REPORT names. */
export function report(fault: string, figures: Record<string, unknown>): void {
  const { CHAOS_REPORT: file } = process.env
  if (file === undefined) return
  const rounded = Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [
      name,
      typeof value === "number" ? Math.round(value * 10) / 10 : value,
    ]),
  )
  appendFileSync(file, `${JSON.stringify({ fault, ...rounded })}\n`)
}
