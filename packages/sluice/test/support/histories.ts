import fc from "fast-check"
import type { Policy } from "sluice"
import type { PolicyRequest, StoreReply, StoreRequest } from "sluice/store"
import { policyRef, type StateRef } from "sluice/store"
import { anySize, anywhere, costOf, EPOCH, edgesOf, type Move, moved, type Size } from "./moves.js"
import { type Kind, kinds, policyOf, relativesOf } from "./policy-kinds.js"
import { type Reference, reference } from "./reference.js"

/** One call of a store at one microsecond of its clock. */
export type Operation =
  | { readonly at: number; readonly call: "ask"; readonly ask: StoreRequest }
  | {
      readonly at: number
      readonly call: "giveBack"
      readonly policies: readonly PolicyRequest[]
      readonly debitedAt: number | undefined
    }
  | { readonly at: number; readonly call: "forget"; readonly places: readonly StateRef[] }

export type History = readonly Operation[]

/** An operation that is generated before the results of earlier ones are known. */
interface Intent {
  readonly call: "spend" | "peek" | "giveBack" | "undo" | "forget"
  readonly move: Move
  /** Selects the policy and the key. Any number. */
  readonly policy: number
  readonly key: number
  readonly size: Size
  readonly count: number
}

const intent = fc.record<Intent>({
  call: fc.constantFrom(...words({ spend: 13, peek: 3, giveBack: 2, undo: 3, forget: 1 })),
  move: anywhere,
  policy: fc.constantFrom(0, 0, 0, 1, 2),
  key: fc.constantFrom(0, 0, 1, 2),
  size: anySize,
  count: fc.constantFrom(1, 1, 1, 2, 3, 4, 5),
})

const lengths = { minLength: 5, maxLength: 40, size: "max" } as const

/** Histories of one policy, up to three keys, and sometimes a variant of the policy. */
export function historyOf(kind: Kind): fc.Arbitrary<History> {
  const policies = fc.tuple(relativesOf(kind), policyOf(kind))
  return historyUnder(policies.map(([relatives, another]) => [...relatives, another]))
}

/** Histories under any of three policies that read the same state, most often the first. */
export function historyUnder(
  policies: fc.Arbitrary<readonly Policy[]>,
  limits: fc.ArrayConstraints = lengths,
): fc.Arbitrary<History> {
  return fc.tuple(policies, fc.array(intent, limits)).map(([choice, intents]) =>
    settle(intents, ({ policy, key, size }) => {
      const chosen = choice[policy % choice.length] as Policy
      return [
        { ref: policyRef("parity", "default"), key: `${key}`, policy: chosen, cost: costOf(size, chosen) },
      ]
    }),
  )
}

/** Histories of requests under one, two or three policies of any kinds, all or nothing. */
export function historyOfSeveral(limits: fc.ArrayConstraints = lengths): fc.Arbitrary<History> {
  const any = fc.constantFrom(...kinds).chain(policyOf)
  return fc.tuple(any, any, any, fc.array(intent, limits)).map(([a, b, c, intents]) =>
    settle(intents, ({ policy, key, size, count }) => {
      const policies = [a, b, c].slice(0, 1 + ((policy + count) % 3))
      return policies.map((each, i) => ({
        ref: policyRef("parity", `${i}`),
        key: `${key % 2}`,
        policy: each,
        cost: costOf(i === 0 ? size : { ...size, n: (size.n + 5 * i) % 12 }, each),
      }))
    }),
  )
}

/** Gives each intent a time by playing it. Edges come from its own reply and the one before. */
function settle(intents: readonly Intent[], partsOf: (intent: Intent) => PolicyRequest[]): History {
  const played = reference()
  const told = new Map<number, number[]>()
  const debits = new Map<string, number[]>()
  let at = EPOCH
  return intents.flatMap((intent): Operation[] => {
    const policies = partsOf(intent)
    const [first] = policies as [PolicyRequest]
    const look = { policies: policies, count: 1, mode: "peek" } as const
    const edges = [...edgesOf(policies, played.ask(look, at), at), ...(told.get(intent.key) ?? [])]
    at = moved(at, intent.move, { policy: first.policy, edges })
    const debited = debits.get(first.key) ?? []
    const operation = operationOf(intent, at, policies, debited.at(-intent.count))
    const reply = apply(played, operation)
    if (intent.call === "spend" && reply?.granted) debits.set(first.key, [...debited, at])
    if (reply !== undefined) told.set(intent.key, edgesOf(policies, reply, at))
    return operation.call === "giveBack" ? [operation, { at, call: "ask", ask: look }] : [operation]
  })
}

/** The operation of an intent. If it gives units back, they were spent at `debitedAt`. */
function operationOf(
  { call, count }: Intent,
  at: number,
  policies: readonly PolicyRequest[],
  debitedAt: number | undefined,
): Operation {
  if (call === "giveBack") return { at, call, policies: policies, debitedAt: undefined }
  if (call === "undo") return { at, call: "giveBack", policies: policies, debitedAt }
  if (call === "forget") return { at, call, places: policies }
  return { at, call: "ask", ask: { policies, count, mode: call } }
}

/** Plays one operation on the reference. Returns the reply to a request. */
export function apply(played: Reference, operation: Operation): StoreReply | undefined {
  if (operation.call === "ask") return played.ask(operation.ask, operation.at)
  if (operation.call === "giveBack") played.giveBack(operation.policies, operation.at, operation.debitedAt)
  else played.forget(operation.places, operation.at)
  return undefined
}

function words<W extends string>(weights: Record<W, number>): W[] {
  return Object.entries<number>(weights).flatMap(([word, weight]) => Array(weight).fill(word))
}
