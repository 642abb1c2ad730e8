import { isDeepStrictEqual } from "node:util"
import fc from "fast-check"
import { Redis } from "ioredis"
import type { Store } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { apply, type Operation } from "../support/histories.js"
import { startRedis } from "../support/redis-server.js"
import { reference } from "../support/reference.js"

const CONNECTIONS = 4
const AT_ONCE = 100

type Delivery = "function" | "script"

interface Mismatch {
  readonly delivery: Delivery
  readonly step: number
  readonly expected: unknown
  readonly received: unknown
}

/** How operations of one kind are played. */
export interface Play<Step extends { readonly at: number }> {
  /** Makes a fresh reference store. It plays operations in order and returns its replies. */
  twin(): (operation: Step) => unknown
  /** Plays one operation on a store and returns its reply. */
  on(store: Store, operation: Step): unknown
}

const requests: Play<Operation> = {
  twin() {
    const twin = reference()
    return (operation) => apply(twin, operation)
  },
  on(store, operation) {
    if (operation.call === "giveBack") return store.giveBack(operation.policies, operation.debitedAt)
    if (operation.call === "forget") return store.forget(operation.places)
    return store.decide(operation.ask)
  },
}

export interface Sampling {
  readonly seed: number
  readonly numRuns: number
}

/** Plays histories on a real server through the shipped store, and on a reference. */
export interface Comparison<Step> {
  readonly clients: readonly Redis[]
  /** Throws at the first reply that differs, with the shortest history that shows it. */
  compare(name: string, histories: fc.Arbitrary<readonly Step[]>, sampling: Sampling): Promise<void>
  stop(): Promise<void>
}

/** By default, compares with the TypeScript reference. */
export async function startComparison(): Promise<Comparison<Operation>>
export async function startComparison<Step extends { readonly at: number }>(
  how: Play<Step>,
): Promise<Comparison<Step>>
export async function startComparison(how: Play<Operation> = requests): Promise<Comparison<Operation>> {
  const server = await startRedis()
  const clients = Array.from({ length: CONNECTIONS }, () => new Redis(server.port, server.host))
  let plays = 0

  /** Plays by function and by script in turns, which run the same library. */
  const play = async (
    history: readonly Operation[],
    delivery: Delivery = plays % 2 === 0 ? "script" : "function",
  ): Promise<Mismatch | undefined> => {
    plays += 1
    let now = 0
    const store = redisStore(ioredis(clients[plays % CONNECTIONS] as Redis), {
      prefix: `parity-${plays}`,
      clock: () => now / 1_000,
      delivery,
    })
    const twin = how.twin()
    for (const [step, operation] of history.entries()) {
      now = operation.at
      const expected = twin(operation)
      const received = await how.on(store, operation)
      if (!isDeepStrictEqual(received, expected)) return { delivery, step, expected, received }
    }
    return undefined
  }

  const shrink = async (
    history: readonly Operation[],
    found: Mismatch,
  ): Promise<[readonly Operation[], Mismatch]> => {
    let [shortest, mismatch] = [history.slice(0, found.step + 1), found]
    for (let i = shortest.length - 2; i >= 0; i -= 1) {
      const shorter = shortest.toSpliced(i, 1)
      const still = await play(shorter, found.delivery)
      if (still !== undefined) [shortest, mismatch] = [shorter.slice(0, still.step + 1), still]
      i = Math.min(i, shortest.length - 1)
    }
    return [shortest, mismatch]
  }

  return {
    clients,
    async compare(name, histories, sampling) {
      const sample = fc.sample(histories, sampling)
      for (let start = 0; start < sample.length; start += AT_ONCE) {
        const chunk = sample.slice(start, start + AT_ONCE)
        const found = await Promise.all(chunk.map((history) => play(history)))
        const index = found.findIndex((mismatch) => mismatch !== undefined)
        if (index < 0) continue
        const [history, mismatch] = await shrink(
          chunk[index] as readonly Operation[],
          found[index] as Mismatch,
        )
        throw new Error(
          [
            `${name}: history ${start + index} of seed ${sampling.seed} differs at its last step by ${mismatch.delivery}, shortened:`,
            ...history.map((operation) => JSON.stringify(operation)),
            `expected ${JSON.stringify(mismatch.expected)}`,
            `received ${JSON.stringify(mismatch.received)}`,
          ].join("\n"),
        )
      }
      const steps = sample.reduce((sum, history) => sum + history.length, 0)
      console.log(`${name}: ${sample.length} histories, ${steps} steps`)
    },
    async stop() {
      for (const client of clients) client.disconnect()
      await server.stop()
    },
  }
}
