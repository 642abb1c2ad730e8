import fc from "fast-check"
import type { Answer, Ask, Part, Policy } from "sluice"
import { type Place, scopeOf } from "sluice"
import { anySize, anywhere, costOf, EPOCH, edgesOf, type Move, moved, type Size } from "./moves.js"
import { type Kind, kinds, policyOf, relativesOf } from "./policy-kinds.js"
import { type Reference, reference } from "./reference.js"

/** One call of a store at one microsecond of its clock. */
export type Operation =
  | { readonly at: number; readonly call: "ask"; readonly ask: Ask }
  | {
      readonly at: number
      readonly call: "giveBack"
      readonly parts: readonly Part[]
      readonly debitedAt: number | undefined
    }
  | { readonly at: number; readonly call: "forget"; readonly places: readonly Place[] }

export type History = readonly Operation[]

/** An operation before it is known what the ones before it did. */
interface Intent {
  readonly call: "spend" | "peek" | "giveBack" | "undo" | "forget"
  readonly move: Move
  /** Which of the policies, and which of the keys: any number. */
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

/** Histories of one policy of a kind, up to three keys, and now and then a relative of the policy. */
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
        { scope: scopeOf("parity", "default"), key: `${key}`, policy: chosen, cost: costOf(size, chosen) },
      ]
    }),
  )
}

/** Histories whose asks charge one, two or three policies of any kinds, all or nothing. */
export function historyOfSeveral(limits: fc.ArrayConstraints = lengths): fc.Arbitrary<History> {
  const any = fc.constantFrom(...kinds).chain(policyOf)
  return fc.tuple(any, any, any, fc.array(intent, limits)).map(([a, b, c, intents]) =>
    settle(intents, ({ policy, key, size, count }) => {
      const policies = [a, b, c].slice(0, 1 + ((policy + count) % 3))
      return policies.map((each, i) => ({
        scope: scopeOf("parity", `${i}`),
        key: `${key % 2}`,
        policy: each,
        cost: costOf(i === 0 ? size : { ...size, n: (size.n + 5 * i) % 12 }, each),
      }))
    }),
  )
}

/** Puts a time to each intent by playing it: edges are where its own answer and the one before say they are. */
function settle(intents: readonly Intent[], partsOf: (intent: Intent) => Part[]): History {
  const played = reference()
  const told = new Map<number, number[]>()
  const debits = new Map<string, number[]>()
  let at = EPOCH
  return intents.flatMap((intent): Operation[] => {
    const parts = partsOf(intent)
    const [first] = parts as [Part]
    const look = { parts, count: 1, mode: "peek" } as const
    const edges = [...edgesOf(parts, played.ask(look, at), at), ...(told.get(intent.key) ?? [])]
    at = moved(at, intent.move, { policy: first.policy, edges })
    const debited = debits.get(first.key) ?? []
    const operation = operationOf(intent, at, parts, debited.at(-intent.count))
    const answer = apply(played, operation)
    if (intent.call === "spend" && answer?.granted) debits.set(first.key, [...debited, at])
    if (answer !== undefined) told.set(intent.key, edgesOf(parts, answer, at))
    return operation.call === "giveBack" ? [operation, { at, call: "ask", ask: look }] : [operation]
  })
}

/** The operation of an intent; what it undoes, if it does, was spent at `debitedAt`. */
function operationOf(
  { call, count }: Intent,
  at: number,
  parts: readonly Part[],
  debitedAt: number | undefined,
): Operation {
  if (call === "giveBack") return { at, call, parts, debitedAt: undefined }
  if (call === "undo") return { at, call: "giveBack", parts, debitedAt }
  if (call === "forget") return { at, call, places: parts }
  return { at, call: "ask", ask: { parts, count, mode: call } }
}

/** Plays one operation on the reference; the answer, if it asks. */
export function apply(played: Reference, operation: Operation): Answer | undefined {
  if (operation.call === "ask") return played.ask(operation.ask, operation.at)
  if (operation.call === "giveBack") played.giveBack(operation.parts, operation.at, operation.debitedAt)
  else played.forget(operation.places, operation.at)
  return undefined
}

function words<W extends string>(weights: Record<W, number>): W[] {
  return Object.entries<number>(weights).flatMap(([word, weight]) => Array(weight).fill(word))
}
