import { readFileSync } from "node:fs"
import { Redis } from "ioredis"
import { createLimiter, type Limiter, memoryStore, type Policies } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import type { ManualClock } from "sluice/testing"
import { afterAll, beforeAll } from "vitest"
import { type RedisServer, startRedis } from "../support/redis-server.js"

/** The stores that every example of the five documents runs on. */
export const stores = ["memory", "redis"] as const

export interface Rig {
  readonly client: Redis
  /** A limiter with a name of its own, on a store that goes by `clock`. */
  limiter<const P extends Policies>(store: (typeof stores)[number], policy: P, clock: ManualClock): Limiter<P>
  /** Runs a script of the documents by `clock`. */
  run(script: string, clock: ManualClock, keys: string[], ...args: (string | number)[]): Promise<unknown>
}

const lua = (name: string) => readFileSync(new URL(`scripts/${name}.lua`, import.meta.url), "utf8")

let limiters = 0

/** A private server for the tests of one file, with the stores and the documents' scripts on it. */
export function useRig(): Rig {
  let server: RedisServer
  let client: Redis

  beforeAll(async () => {
    server = await startRedis()
    client = new Redis(server.port, server.host)
  })
  afterAll(async () => {
    client.disconnect()
    await server.stop()
  })

  return {
    get client() {
      return client
    },
    limiter(store, policy, clock) {
      limiters += 1
      const name = `seed-${limiters}`
      const kept = store === "memory" ? memoryStore({ clock }) : redisStore(ioredis(client), { clock })
      return createLimiter({ name, policy, store: kept })
    },
    run(script, clock, keys, ...args) {
      const source = `${lua("on-manual-clock")}\n${lua(script)}`
      return client.eval(source, keys.length, ...keys, ...args, clock())
    },
  }
}

/** Asks `times` times at one moment; how many passed. */
export async function burst(
  request: () => Promise<{ allowed: boolean } | unknown>,
  times: number,
): Promise<number> {
  const replies = await Promise.all(Array.from({ length: times }, request))
  return replies.filter((reply) => (reply as { allowed?: boolean }).allowed ?? reply === 1).length
}

/** The most of these moments, in order, that lie in any span of `ms`. */
export function mostIn(ms: number, moments: readonly number[]): number {
  let first = 0
  return moments.reduce((most, moment, last) => {
    while ((moments[first] as number) <= moment - ms) first += 1
    return Math.max(most, last - first + 1)
  }, 0)
}
