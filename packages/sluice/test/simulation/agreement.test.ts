import type { MemoryStore, Policy } from "sluice"
import { afterAll, beforeAll, expect, test } from "vitest"
import { storeOver } from "../../src/stores/memory/memory-store.js"
import { StateTable } from "../../src/stores/memory/state-table.js"
import { library } from "../../src/stores/redis/library.js"
import { type Connected, clientKinds } from "../support/clients.js"
import { command, type RedisServer, startRedis } from "../support/redis-server.js"
import { scriptCalls } from "./script-call.js"
import { replaying } from "./seeds.js"
import { shapeOf } from "./shape.js"
import { simulate } from "./simulate.js"
import { SimulatedServer } from "./simulated-server.js"
import { Timeline } from "./timeline.js"

/** Microseconds that the time of a call may be behind that of another: more, and a store in memory may have forgotten. */
const MOST_BEHIND = 900_000
const SEEDS = 20

let redis: RedisServer
let connected: Connected

beforeAll(async () => {
  redis = await startRedis()
  await command(redis.port, "FUNCTION", "LOAD", library.text)
  connected = await (clientKinds[0] as (typeof clientKinds)[0]).single(redis.port)
})
afterAll(async () => {
  await connected?.close()
  await redis?.stop()
})

/** A day passes in seconds here, so Redis forgets nothing that has expired; a store in memory would. */
function forgetsNothing({ clock = Date.now }: MemoryStore): MemoryStore {
  return storeOver(new StateTable(100_000, Number.POSITIVE_INFINITY), clock)
}

test.skipIf(replaying)("the simulated server says what Redis says, to calls of the simulation", async () => {
  const modes = new Set<string>()
  const algorithms = new Set<Policy["algorithm"]>()
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { recorded } = await simulate(seed)
    const policies = shapeOf(seed).limiters.flatMap((limiter) => Object.values(limiter.policies))
    const read = scriptCalls(policies)
    const server = new SimulatedServer("s", new Timeline(), () => {}, forgetsNothing)
    let latest = 0
    const calls = recorded.map(({ keys, args: [time, ...rest] }) => {
      const now = Math.max(Number(time), latest - MOST_BEHIND)
      latest = Math.max(latest, now)
      return { keys, args: [`${now}`, ...rest] }
    })
    await command(redis.port, "FLUSHALL")
    // in order, because there is one connection
    const replies = await Promise.all(
      calls.map(({ keys, args }) => connected.client.run("FCALL", library.name, keys, args)),
    )
    for (const [i, { keys, args }] of calls.entries()) {
      const call = read(keys, args)
      for (const { mode, parts } of call.asks) {
        modes.add(mode)
        if (mode !== "forget") for (const { policy } of parts) algorithms.add(policy.algorithm)
      }
      const simulated = server.run("p", "EVAL", "", call)
      const what = `call ${i} of seed ${seed}: ${JSON.stringify(args)}`
      expect(simulated.values, what).toEqual(replies[i])
    }
  }
  expect([...modes].sort()).toEqual(
    ["book", "charge", "forget", "give", "leave", "peek", "reserve", "settle", "spend"].sort(),
  )
  expect(algorithms.size).toBe(5)
})
