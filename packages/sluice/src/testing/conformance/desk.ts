import assert from "node:assert/strict"
import { type Decision, decide } from "../../decision.js"
import { charges, namePolicies, type Policies } from "../../policies.js"
import { scopeOf } from "../../state-key.js"
import type { Answer, Ask, Part, Store, Turn } from "../../store.js"
import type { Rig, Subject } from "./rig.js"

/** Milliseconds: how far ahead a turn may lie, unless a case says otherwise. */
export const FAR = 60_000

/** Asks of one of the stores of a rig, past the limiter, in milliseconds. */
export interface Desk {
  ask(mode: "spend" | "peek" | "charge", cost: number, key?: string): Promise<Decision>
  /** The answer of the store to an ask for a turn, and what it says in words. */
  tryBook(cost: number, maxWait?: number, key?: string): Promise<Answer & { readonly decision: Decision }>
  /** A turn that must be had. */
  book(cost: number, key?: string): Promise<Turn>
  leave(turn: Turn): Promise<void>
}

/** A desk where limiter `"conformance"` of these policies is asked for; key `"k"` unless told. */
export function deskOf(rig: Rig, policies: Policies, store = 0): Desk {
  const to = rig.stores[store % rig.stores.length] as Store
  const named = namePolicies(policies, (name) => scopeOf("conformance", name))
  const chargesOf = (key: string, cost: number) => charges(named, key, cost)

  const tryBook = async (cost: number, maxWait = FAR, key = "k") => {
    const parts = chargesOf(key, cost)
    const answer = await to.ask({ parts, count: 1, mode: "book", maxWait: maxWait * 1_000 })
    return { ...answer, decision: decide(parts, answer) }
  }

  return {
    async ask(mode, cost, key = "k") {
      const parts = chargesOf(key, cost)
      const ask: Ask = { parts, count: 1, mode, maxWait: 0 }
      const told = mode === "charge" ? parts.map((part) => ({ ...part, cost: 1 })) : parts
      return decide(told, await to.ask(ask))
    },
    tryBook,
    async book(cost, key = "k") {
      const { granted, turn, marks } = await tryBook(cost, FAR, key)
      assert.equal(granted, 1)
      assert.ok(turn !== undefined && marks !== undefined)
      const parts: readonly Part[] = chargesOf(key, cost)
      return { parts, at: turn, marks }
    },
    leave: async (turn) => to.leave(turn),
  }
}

/** Milliseconds from now until a turn. */
export function untilTurn({ clock }: Rig, { at }: Pick<Turn, "at">): number {
  return at / 1_000 - clock()
}

/** Who waits for a leaky bucket is in it: it must not be full. */
export const isQueue = ({ policy }: Subject) => policy.algorithm === "leakyBucket"

/** Spends as much as lets nobody pass at once; a queue has room for three. */
export async function fill(desk: Desk, subject: Subject, key = "k"): Promise<void> {
  assert.equal((await desk.ask("spend", isQueue(subject) ? 7 : 10, key)).allowed, true)
}

/** Looks at two keys for two periods: they say the same, whatever is asked of them. */
export async function sameFromNowOn(
  { clock }: Rig,
  desk: Desk,
  keys: readonly [string, string],
  period: number,
) {
  const [one, other] = keys
  for (let i = 0; i <= 40; i += 1) {
    for (const cost of [1, 5, 10]) {
      assert.deepEqual(await desk.ask("peek", cost, one), await desk.ask("peek", cost, other))
    }
    clock.advance(period / 20)
  }
}
