import fc from "fast-check"
import type { MemoryStore, Policy } from "sluice"
import { type PolicyRequest, policyRef, type Turn } from "sluice/store"
import { storeOver } from "../../src/stores/memory/memory-store.js"
import { StateTable } from "../../src/stores/memory/state-table.js"
import type { Grant } from "./bounds.js"
import { anySize, costOf, EPOCH, edgesOf, forward, type Move, moved, type Size } from "./moves.js"
import { periodOf } from "./policy-kinds.js"

/** An action on a store that is generated before the results of earlier ones are known. */
export interface Act {
  readonly call: "spend" | "book" | "leave" | "charge" | "reserve" | "settle"
  readonly move: Move
  readonly size: Size
  /** A number from 0 to 11. It selects the turn, how far ahead, and how much of it. */
  readonly choice: number
}

/** Wraps a store so that it does one thing wrong. */
export type Change = (store: MemoryStore) => MemoryStore

/** A clock that mostly stands still, so that there is a queue, and never goes back. */
const mostlyHere: fc.Arbitrary<Move> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ to: "here", size: 0, nudge: 0 } as const) },
  { weight: 2, arbitrary: forward },
)

const mostlyOne: fc.Arbitrary<Size> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ of: "one", n: 0 } as const) },
  { weight: 2, arbitrary: anySize },
)

/** Up to `maxLength` actions, of these calls. */
export function actsOf(calls: readonly Act["call"][], maxLength: number): fc.Arbitrary<Act[]> {
  const choice = fc.integer({ min: 0, max: 11 })
  const act = fc.record<Act>({ call: fc.constantFrom(...calls), move: mostlyHere, size: mostlyOne, choice })
  return fc.array(act, { minLength: 2, maxLength, size: "max" })
}

/** A memory store that forgets nothing, on a clock that is set in microseconds. */
export function storeAt(change: Change = (store) => store) {
  let now = EPOCH
  const store = storeOver(new StateTable(2 ** 20, Number.POSITIVE_INFINITY), () => now / 1_000)
  return {
    store: change(store),
    set(us: number) {
      now = us
    },
  }
}

/** A request under these policies, each with its own name. */
export function partsOf(policies: readonly Policy[], size: Size): PolicyRequest[] {
  return policies.map((policy, i) => ({
    ref: policyRef("test", `${i}`),
    key: "key",
    policy,
    cost: costOf(size, policy),
  }))
}

/** The longest wait that an action accepts. */
export function maxWaitOf(policy: Policy, choice: number): number {
  return Math.min(periodOf(policy) * choice, 3e14)
}

interface Admitted extends Grant {
  readonly turn?: Turn
  readonly note?: PolicyRequest["ref"]
}

/** The admitted units, and the turns in the order of requests. */
export interface Played {
  readonly admitted: readonly Grant[]
  readonly turns: readonly number[]
}

/** Plays actions on one key. Units given back do not count as admitted, nor do charges. */
export function playActs(policy: Policy, acts: readonly Act[], change?: Change): Played {
  const { store, set } = storeAt(change)
  const admitted = new Set<Admitted>()
  const turns: number[] = []
  let now = EPOCH
  let edges: number[] = []

  const leave = (choice: number) => {
    const booked = [...admitted].filter(({ turn }) => turn !== undefined)
    const coming = booked.filter(({ at }) => at > now)
    // Usually a turn that is still to come: the last, the first, or any.
    const among = coming.length > 0 && choice !== 6 ? coming : booked
    const index = choice < 4 ? among.length - 1 : choice < 7 ? 0 : (choice * 7) % Math.max(among.length, 1)
    const entry = among[index]
    if (entry?.turn === undefined) return
    store.leave(entry.turn)
    admitted.delete(entry)
  }

  const settle = (policy: PolicyRequest, choice: number) => {
    const reserved = [...admitted].filter(({ note }) => note !== undefined)
    const entry = reserved[choice % Math.max(reserved.length, 1)]
    if (entry?.note === undefined) return
    const actual = choice % 2 === 0 ? 0 : Math.floor((entry.units * choice) / 11)
    const back = [{ ...policy, cost: entry.units - actual }].filter(({ cost }) => cost > 0)
    if (!store.settle({ ref: { ref: entry.note, key: "key" }, back, more: [], maxWait: 0 })) return
    admitted.delete(entry)
    if (actual > 0) admitted.add({ at: entry.at, units: actual })
  }

  for (const [i, { call, move, size, choice }] of acts.entries()) {
    const ahead = turns.slice(-3)
    now = moved(now, move, { policy, edges: [...edges, ...ahead] })
    set(now)
    const policies = partsOf([policy], size)
    const [part] = policies as [PolicyRequest]
    if (call === "leave") leave(choice)
    else if (call === "settle") settle(part, choice)
    else {
      const maxWait = maxWaitOf(policy, choice)
      const ref = policyRef("test", `reserved ${i}`)
      const note = { ref: { ref: ref, key: "key" }, lasts: 3 * periodOf(policy) }
      const count = call === "spend" ? 1 + (choice % 3) : 1
      const reply = store.decide({
        policies,
        count,
        mode: call,
        maxWait,
        ...(call === "reserve" && { note }),
      })
      const { turn: at = now, receipt = [], granted } = reply
      if (call !== "charge" && call !== "book") edges = edgesOf(policies, reply, now)
      if (call === "charge" || granted === 0) continue
      if (call === "book") turns.push(at)
      const units = granted * part.cost
      if (call === "book") admitted.add({ at, units, turn: { policies, at, receipt } })
      else admitted.add({ at, units, ...(call === "reserve" && { note: ref }) })
    }
  }
  return { admitted: [...admitted].sort((a, b) => a.at - b.at), turns }
}
