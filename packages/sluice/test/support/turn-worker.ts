import { setTimeout as sleep } from "node:timers/promises"
import { Redis } from "ioredis"
import { createLimiter, type Store } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import type { Booking, Shift, TurnReport } from "./turn-workers.js"

// A worker process that waits for turns: `turn-worker.ts <port of Redis>`. It prints "ready", and replies to each shift with
// its turns.
const client = new Redis(Number(process.argv[2]), "127.0.0.1")

/** Numbers from 0 to 1 that are the same in every run. */
function sequence(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

async function work({ name, policy, workers, turns, pause, aborts, seed }: Shift): Promise<TurnReport> {
  const random = sequence(seed)
  const bookings: Booking[] = []
  const left: number[] = []
  let calls = 0
  const through = ioredis(client)
  const store: Store = redisStore({
    ...through,
    run(...call) {
      calls += 1
      return through.run(...call)
    },
  })
  const watched: Store = {
    ...store,
    async decide(request) {
      const reply = await store.decide(request)
      const { at, turn, granted } = reply
      if (granted > 0 && turn !== undefined) bookings.push({ at, turn })
      return reply
    },
    leave(turn) {
      left.push(turn.at)
      return store.leave(turn)
    },
  }
  const limiter = createLimiter({ name, policy, store: watched })
  const had: TurnReport["had"][number][] = []
  let asked = 0
  let aborted = 0
  const worker = async () => {
    for (let i = 0; i < turns; i += 1) {
      const order = asked++
      const gaveUp = random() < aborts ? new AbortController() : undefined
      if (gaveUp !== undefined) setTimeout(() => gaveUp.abort(), random() * 400)
      try {
        await limiter.acquire("k", { signal: gaveUp?.signal })
        had.push({ order, wokeAt: Date.now() * 1_000 })
        if (pause > 0) await sleep(pause)
      } catch (error) {
        if (gaveUp?.signal.aborted !== true) throw error
        aborted += 1
      }
    }
  }
  await Promise.all(Array.from({ length: workers }, worker))
  await limiter.close()
  return { bookings, had, left, aborted, calls }
}

process.on("disconnect", () => process.exit())
process.on("message", async (shifts: readonly Shift[]) => {
  process.send?.(await Promise.all(shifts.map(work)))
})
await client.ping()
process.send?.("ready")
