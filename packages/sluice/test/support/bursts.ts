import type { Decision, Limiter } from "sluice"
import type { Operation } from "./linearizable.js"

/** An operation with its key and the source of its reply. */
export type Recorded = Operation & { readonly key: string; readonly source?: Decision["source"] }

export interface Load {
  /** The name of the caller, for reports. */
  readonly by: string
  readonly seed: number
  readonly keys: readonly string[]
  /** The least number of operations. */
  readonly operations: number
  /** Whether there are refunds and resets among them. */
  readonly gifts: boolean
}

const COSTS = [1, 1, 1, 2, 2, 3, 5, 8]
const MOST_AT_ONCE = 24

/** Two concurrent callers send bursts, each within one tick. Returns their operations with the replies. */
export async function askInBursts(limiter: Limiter, load: Load): Promise<Recorded[]> {
  const random = randomFrom(load.seed)
  const recorded: Recorded[] = []
  let left = load.operations
  const caller = async () => {
    while (left > 0) {
      const burst = 1 + Math.floor(random() * MOST_AT_ONCE)
      left -= burst
      recorded.push(
        ...(await Promise.all(Array.from({ length: burst }, () => operate(limiter, load, random)))),
      )
    }
  }
  await Promise.all([caller(), caller()])
  return recorded
}

async function operate(limiter: Limiter, { by, keys, gifts }: Load, random: () => number): Promise<Recorded> {
  const oneOf = <T>(values: readonly T[]) => values[Math.floor(random() * values.length)] as T
  const key = oneOf(keys)
  const cost = oneOf(COSTS)
  const lot = random()
  const kind = lot < 0.7 || (!gifts && lot < 0.9) ? "ask" : lot < 0.82 || !gifts ? "peek" : "gift"
  const invokedAt = now()
  if (kind === "gift") {
    if (lot < 0.995) await limiter.refund(key, cost * 2)
    else await limiter.reset(key)
    const times = { invokedAt, respondedAt: now(), by, key }
    return lot < 0.995 ? { kind: "refund", cost: cost * 2, ...times } : { kind: "reset", ...times }
  }
  const decision = await (kind === "ask" ? limiter.tryAcquire(key, { cost }) : limiter.peek(key, { cost }))
  const { allowed, remaining, source } = decision
  return { kind, cost, allowed, remaining, source, invokedAt, respondedAt: now(), by, key }
}

/** The time of the clock that all processes of a machine share. Rounding may hide an order, but never reverses it. */
function now(): number {
  return Number(process.hrtime.bigint())
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
