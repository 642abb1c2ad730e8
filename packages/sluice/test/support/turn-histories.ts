import fc from "fast-check"
import type { MemoryStore, Policy, Store } from "sluice"
import type { PolicyRequest, Settlement, StateRef, StoreReply, StoreRequest, Turn } from "sluice/store"
import { policyRef } from "sluice/store"
import { storeOver } from "../../src/stores/memory/memory-store.js"
import { StateTable } from "../../src/stores/memory/state-table.js"
import { anySize, anywhere, costOf, EPOCH, edgesOf, type Move, moved, type Size } from "./moves.js"
import { type Kind, kinds, limitOf, periodOf, policyOf, relativesOf } from "./policy-kinds.js"

/** One call of a store at one microsecond of its clock. */
export type TurnOperation =
  | { readonly at: number; readonly call: "ask"; readonly ask: StoreRequest }
  | { readonly at: number; readonly call: "leave"; readonly turn: Turn }
  | { readonly at: number; readonly call: "settle"; readonly settlement: Settlement }
  | {
      readonly at: number
      readonly call: "giveBack"
      readonly policies: readonly PolicyRequest[]
      readonly debitedAt: number | undefined
    }
  | { readonly at: number; readonly call: "forget"; readonly places: readonly StateRef[] }

export type TurnHistory = readonly TurnOperation[]

/** A memory store that forgets nothing, for bookings and settlements. */
export function turnTwin(): (operation: TurnOperation) => StoreReply | boolean | undefined {
  let now = 0
  const store: MemoryStore = storeOver(new StateTable(2 ** 20, Number.POSITIVE_INFINITY), () => now / 1_000)
  return (operation) => {
    now = operation.at
    return playOn(store, operation) as StoreReply | boolean | undefined
  }
}

/** Plays one operation on a store. */
export function playOn(store: Store, operation: TurnOperation): unknown {
  switch (operation.call) {
    case "ask":
      return store.decide(operation.ask)
    case "leave":
      return store.leave(operation.turn)
    case "settle":
      return store.settle(operation.settlement)
    case "giveBack":
      return store.giveBack(operation.policies, operation.debitedAt)
    case "forget":
      return store.forget(operation.places)
  }
}

const calls = ["spend", "peek", "book", "leave", "charge", "reserve", "settle", "giveBack", "forget"] as const
const weights = [6, 2, 12, 7, 3, 3, 3, 1, 0.3] as const

/** An operation that is generated before the results of earlier ones are known. */
interface Intent {
  readonly call: (typeof calls)[number]
  readonly move: Move
  /** Selects the policy and the key. Any number. */
  readonly policy: number
  readonly key: number
  readonly size: Size
  /** Any number. It selects the turn or reservation, how far ahead, and how much of it. */
  readonly choice: number
}

const intent = fc.record<Intent>({
  call: fc.oneof(
    ...calls.map((call, i) => ({
      weight: Math.round((weights[i] as number) * 10),
      arbitrary: fc.constant(call),
    })),
  ),
  // Mostly at the same time, so that there is a queue.
  move: fc.oneof(
    { weight: 3, arbitrary: fc.constant({ to: "here", size: 0, nudge: 0 } as const) },
    { weight: 2, arbitrary: anywhere },
  ),
  policy: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 2),
  key: fc.constantFrom(0, 0, 0, 0, 0, 1),
  // Mostly equal, so that freed turns are reused.
  size: fc.oneof(
    { weight: 3, arbitrary: fc.constant({ of: "one", n: 0 } as const) },
    { weight: 2, arbitrary: anySize },
  ),
  choice: fc.integer({ min: 0, max: 11 }),
})

const SMALL = 6
const lengths = { minLength: 5, maxLength: 40, size: "max" } as const

/** Histories of one policy, two keys, and sometimes a variant of the policy. */
export function turnHistoryOf(kind: Kind): fc.Arbitrary<TurnHistory> {
  const policies = fc.tuple(
    mostlySmall(relativesOf(kind), ([policy]) => policy),
    policyOf(kind),
  )
  return fc.tuple(policies, fc.array(intent, lengths)).map(([[[a, b], c], intents]) =>
    settled(intents, ({ policy, key, size }) => {
      const chosen = [a, b, c][policy] as Policy
      return [
        { ref: policyRef("parity", "default"), key: `${key}`, policy: chosen, cost: costOf(size, chosen) },
      ]
    }),
  )
}

/** Histories of requests under one, two or three policies of any kinds, all or nothing. */
export function turnHistoryOfSeveral(): fc.Arbitrary<TurnHistory> {
  const any = mostlySmall(fc.constantFrom(...kinds).chain(policyOf), (policy) => policy)
  return fc.tuple(any, any, any, fc.array(intent, lengths)).map(([a, b, c, intents]) =>
    settled(intents, ({ policy, key, size }) =>
      [a, b, c].slice(0, 3 - policy).map((each, i) => ({
        ref: policyRef("parity", `${i}`),
        key: `${key}`,
        policy: each,
        cost: costOf(i === 0 ? size : { ...size, n: (size.n + 5 * i) % 12 }, each),
      })),
    ),
  )
}

/** Usually with a small limit. */
function mostlySmall<T>(any: fc.Arbitrary<T>, policy: (value: T) => Policy): fc.Arbitrary<T> {
  const small = any.filter((value) => limitOf(policy(value)) <= SMALL)
  return fc.oneof({ weight: 4, arbitrary: small }, { weight: 1, arbitrary: any })
}

/** Gives each intent a time and a target by playing it. */
function settled(intents: readonly Intent[], partsOf: (intent: Intent) => PolicyRequest[]): TurnHistory {
  const play = turnTwin()
  const told = new Map<number, number[]>()
  const turns: Turn[] = []
  const reserved: { readonly place: StateRef; readonly policies: readonly PolicyRequest[] }[] = []
  let at = EPOCH
  return intents.flatMap((intent, i): TurnOperation[] => {
    const { call, choice, key } = intent
    const policies = partsOf(intent)
    const [first] = policies as [PolicyRequest]
    const look = { policies: policies, count: 1, mode: "peek" } as const
    const peek = (): TurnOperation => ({ at, call: "ask", ask: look })
    const before = edgesOf(policies, play(peek()) as StoreReply, at)
    const ahead = turns.slice(-3).map((turn) => turn.at)
    at = moved(at, intent.move, {
      policy: first.policy,
      edges: [...before, ...(told.get(key) ?? []), ...ahead],
    })
    const maxWait = waits(first.policy)[choice] as number
    const request = (asked: StoreRequest): TurnOperation => ({ at, call: "ask", ask: asked })

    if (call === "leave") {
      // Usually a turn that is still to come.
      const coming = turns.filter((turn) => turn.at > at)
      const among = coming.length > 0 && choice !== 6 ? coming : turns
      const index = turns.indexOf(among[chosen(among.length, choice)] as Turn)
      const [turn] = turns.splice(Math.max(index, 0), 1)
      if (turn === undefined) return []
      const operation = { at, call, turn } as const
      play(operation)
      return [operation, { at, call: "ask", ask: { policies: turn.policies, count: 1, mode: "peek" } }]
    }
    if (call === "settle") {
      // Sometimes a second time.
      const index = chosen(reserved.length, choice)
      const known = choice % 3 === 0 ? reserved[index] : reserved.splice(index, 1)[0]
      if (known === undefined) return []
      const operation = { at, call, settlement: settlementOf(known, maxWait, choice) } as const
      play(operation)
      return [operation, { at, call: "ask", ask: { policies: known.policies, count: 1, mode: "peek" } }]
    }
    const operation: TurnOperation =
      call === "giveBack"
        ? { at, call, policies: policies, debitedAt: choice < 6 ? undefined : turns.at(choice - 12)?.at }
        : call === "forget"
          ? { at, call, places: policies }
          : call === "reserve"
            ? request({
                policies,
                count: 1,
                mode: call,
                note: {
                  ref: { ref: policyRef("parity", `reserved ${i}`), key: first.key },
                  lasts: Math.max(Math.floor((periodOf(first.policy) * choice) / 6), 1),
                },
              })
            : call === "book" || call === "charge"
              ? request({ policies, count: 1, mode: call, maxWait })
              : request({ policies, count: call === "spend" ? 1 + (choice % 3) : 1, mode: call })
    const reply = play(operation) as StoreReply | undefined
    if (operation.call !== "ask" || reply === undefined) return [operation, peek()]
    told.set(key, call === "charge" ? [] : edgesOf(policies, reply, at))
    if (reply.turn !== undefined && reply.receipt !== undefined) {
      turns.push({ policies, at: reply.turn, receipt: reply.receipt })
    }
    if (operation.ask.note !== undefined && reply.granted > 0) {
      reserved.push({ place: operation.ask.note.ref, policies: policies })
    }
    return call === "charge" ? [operation, peek()] : [operation]
  })
}

/** Selects the last, the first, or any. */
function chosen(length: number, choice: number): number {
  if (length === 0) return 0
  return choice < 5 ? length - 1 : choice < 8 ? 0 : (choice * 7) % length
}

/** The longest wait for a turn. */
function waits(policy: Policy): number[] {
  const period = periodOf(policy)
  const share = (twelfths: number) => Math.floor((period * twelfths) / 12)
  const periods = [2, 3, 3, 5, 7, 10].map((times) => Math.min(period * times, 3e14))
  return [0, 1, share(6), share(12), share(13), share(30), ...periods]
}

/** Settles each policy for less, for more, or as reserved. */
function settlementOf(
  { place: stateRef, policies }: { readonly place: StateRef; readonly policies: readonly PolicyRequest[] },
  maxWait: number,
  choice: number,
): Settlement {
  const back: PolicyRequest[] = []
  const more: PolicyRequest[] = []
  for (const [i, policy] of policies.entries()) {
    const kind = (choice + i) % 4
    if (kind < 2) back.push({ ...policy, cost: kind === 0 ? policy.cost : Math.ceil(policy.cost / 2) })
    if (kind === 2) more.push({ ...policy, cost: 1 + (choice % 3) * limitOf(policy.policy) })
  }
  return { ref: stateRef, back, more, maxWait }
}
