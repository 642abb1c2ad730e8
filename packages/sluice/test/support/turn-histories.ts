import fc from "fast-check"
import type { Answer, Ask, MemoryStore, Part, Place, Policy, Settlement, Store, Turn } from "sluice"
import { scopeOf } from "sluice"
import { storeOver } from "../../src/stores/memory/memory-store.js"
import { Shelf } from "../../src/stores/memory/shelf.js"
import { anySize, anywhere, costOf, EPOCH, edgesOf, type Move, moved, type Size } from "./moves.js"
import { type Kind, kinds, limitOf, periodOf, policyOf, relativesOf } from "./policy-kinds.js"

/** One call of a store at one microsecond of its clock. */
export type TurnOperation =
  | { readonly at: number; readonly call: "ask"; readonly ask: Ask }
  | { readonly at: number; readonly call: "leave"; readonly turn: Turn }
  | { readonly at: number; readonly call: "settle"; readonly settlement: Settlement }
  | {
      readonly at: number
      readonly call: "giveBack"
      readonly parts: readonly Part[]
      readonly debitedAt: number | undefined
    }
  | { readonly at: number; readonly call: "forget"; readonly places: readonly Place[] }

export type TurnHistory = readonly TurnOperation[]

/** The TypeScript steps, and what they need to book and settle: a store in memory that forgets nothing. */
export function turnTwin(): (operation: TurnOperation) => Answer | boolean | undefined {
  let now = 0
  const store: MemoryStore = storeOver(new Shelf(2 ** 20, Number.POSITIVE_INFINITY), () => now / 1_000)
  return (operation) => {
    now = operation.at
    return playOn(store, operation) as Answer | boolean | undefined
  }
}

/** Plays one operation on a store. */
export function playOn(store: Store, operation: TurnOperation): unknown {
  switch (operation.call) {
    case "ask":
      return store.ask(operation.ask)
    case "leave":
      return store.leave(operation.turn)
    case "settle":
      return store.settle(operation.settlement)
    case "giveBack":
      return store.giveBack(operation.parts, operation.debitedAt)
    case "forget":
      return store.forget(operation.places)
  }
}

const calls = ["spend", "peek", "book", "leave", "charge", "reserve", "settle", "giveBack", "forget"] as const
const weights = [6, 2, 12, 7, 3, 3, 3, 1, 0.3] as const

/** An operation before it is known what the ones before it did. */
interface Intent {
  readonly call: (typeof calls)[number]
  readonly move: Move
  /** Which of the policies, and which of the keys: any number. */
  readonly policy: number
  readonly key: number
  readonly size: Size
  /** Any number: which of the turns or reservations, how far ahead, how much of it. */
  readonly choice: number
}

const intent = fc.record<Intent>({
  call: fc.oneof(
    ...calls.map((call, i) => ({
      weight: Math.round((weights[i] as number) * 10),
      arbitrary: fc.constant(call),
    })),
  ),
  // mostly at once, so that there is a line
  move: fc.oneof(
    { weight: 3, arbitrary: fc.constant({ to: "here", size: 0, nudge: 0 } as const) },
    { weight: 2, arbitrary: anywhere },
  ),
  policy: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 2),
  key: fc.constantFrom(0, 0, 0, 0, 0, 1),
  // mostly alike, so that turns that are given back find a taker
  size: fc.oneof(
    { weight: 3, arbitrary: fc.constant({ of: "one", n: 0 } as const) },
    { weight: 2, arbitrary: anySize },
  ),
  choice: fc.integer({ min: 0, max: 11 }),
})

const SMALL = 6
const lengths = { minLength: 5, maxLength: 40, size: "max" } as const

/** Histories of one policy of a kind, two keys, and now and then a relative of the policy. */
export function turnHistoryOf(kind: Kind): fc.Arbitrary<TurnHistory> {
  const policies = fc.tuple(
    mostlySmall(relativesOf(kind), ([policy]) => policy),
    policyOf(kind),
  )
  return fc.tuple(policies, fc.array(intent, lengths)).map(([[[a, b], c], intents]) =>
    settled(intents, ({ policy, key, size }) => {
      const chosen = [a, b, c][policy] as Policy
      return [
        { scope: scopeOf("parity", "default"), key: `${key}`, policy: chosen, cost: costOf(size, chosen) },
      ]
    }),
  )
}

/** Histories whose asks charge one, two or three policies of any kinds, all or nothing. */
export function turnHistoryOfSeveral(): fc.Arbitrary<TurnHistory> {
  const any = mostlySmall(fc.constantFrom(...kinds).chain(policyOf), (policy) => policy)
  return fc.tuple(any, any, any, fc.array(intent, lengths)).map(([a, b, c, intents]) =>
    settled(intents, ({ policy, key, size }) =>
      [a, b, c].slice(0, 3 - policy).map((each, i) => ({
        scope: scopeOf("parity", `${i}`),
        key: `${key}`,
        policy: each,
        cost: costOf(i === 0 ? size : { ...size, n: (size.n + 5 * i) % 12 }, each),
      })),
    ),
  )
}

/** Most often with a limit that is soon reached. */
function mostlySmall<T>(any: fc.Arbitrary<T>, policy: (value: T) => Policy): fc.Arbitrary<T> {
  const small = any.filter((value) => limitOf(policy(value)) <= SMALL)
  return fc.oneof({ weight: 4, arbitrary: small }, { weight: 1, arbitrary: any })
}

/** Puts a time to each intent, and to what it refers to, by playing it. */
function settled(intents: readonly Intent[], partsOf: (intent: Intent) => Part[]): TurnHistory {
  const play = turnTwin()
  const told = new Map<number, number[]>()
  const turns: Turn[] = []
  const reserved: { readonly place: Place; readonly parts: readonly Part[] }[] = []
  let at = EPOCH
  return intents.flatMap((intent, i): TurnOperation[] => {
    const { call, choice, key } = intent
    const parts = partsOf(intent)
    const [first] = parts as [Part]
    const look = { parts, count: 1, mode: "peek" } as const
    const peek = (): TurnOperation => ({ at, call: "ask", ask: look })
    const before = edgesOf(parts, play(peek()) as Answer, at)
    const ahead = turns.slice(-3).map((turn) => turn.at)
    at = moved(at, intent.move, {
      policy: first.policy,
      edges: [...before, ...(told.get(key) ?? []), ...ahead],
    })
    const maxWait = waits(first.policy)[choice] as number
    const ask = (asked: Ask): TurnOperation => ({ at, call: "ask", ask: asked })

    if (call === "leave") {
      // most often one that is to come
      const coming = turns.filter((turn) => turn.at > at)
      const among = coming.length > 0 && choice !== 6 ? coming : turns
      const index = turns.indexOf(among[chosen(among.length, choice)] as Turn)
      const [turn] = turns.splice(Math.max(index, 0), 1)
      if (turn === undefined) return []
      const operation = { at, call, turn } as const
      play(operation)
      return [operation, { at, call: "ask", ask: { parts: turn.parts, count: 1, mode: "peek" } }]
    }
    if (call === "settle") {
      // now and then once more
      const index = chosen(reserved.length, choice)
      const known = choice % 3 === 0 ? reserved[index] : reserved.splice(index, 1)[0]
      if (known === undefined) return []
      const operation = { at, call, settlement: settlementOf(known, maxWait, choice) } as const
      play(operation)
      return [operation, { at, call: "ask", ask: { parts: known.parts, count: 1, mode: "peek" } }]
    }
    const operation: TurnOperation =
      call === "giveBack"
        ? { at, call, parts, debitedAt: choice < 6 ? undefined : turns.at(choice - 12)?.at }
        : call === "forget"
          ? { at, call, places: parts }
          : call === "reserve"
            ? ask({
                parts,
                count: 1,
                mode: call,
                note: {
                  place: { scope: scopeOf("parity", `reserved ${i}`), key: first.key },
                  lasts: Math.max(Math.floor((periodOf(first.policy) * choice) / 6), 1),
                },
              })
            : call === "book" || call === "charge"
              ? ask({ parts, count: 1, mode: call, maxWait })
              : ask({ parts, count: call === "spend" ? 1 + (choice % 3) : 1, mode: call })
    const answer = play(operation) as Answer | undefined
    if (operation.call !== "ask" || answer === undefined) return [operation, peek()]
    told.set(key, call === "charge" ? [] : edgesOf(parts, answer, at))
    if (answer.turn !== undefined && answer.marks !== undefined) {
      turns.push({ parts, at: answer.turn, marks: answer.marks })
    }
    if (operation.ask.note !== undefined && answer.granted > 0) {
      reserved.push({ place: operation.ask.note.place, parts })
    }
    return call === "charge" ? [operation, peek()] : [operation]
  })
}

/** Last first, first first, or any. */
function chosen(length: number, choice: number): number {
  if (length === 0) return 0
  return choice < 5 ? length - 1 : choice < 8 ? 0 : (choice * 7) % length
}

/** How far ahead a turn may lie. */
function waits(policy: Policy): number[] {
  const period = periodOf(policy)
  const share = (twelfths: number) => Math.floor((period * twelfths) / 12)
  const periods = [2, 3, 3, 5, 7, 10].map((times) => Math.min(period * times, 3e14))
  return [0, 1, share(6), share(12), share(13), share(30), ...periods]
}

/** Settles each part for less, for more, or as it was. */
function settlementOf(
  { place, parts }: { readonly place: Place; readonly parts: readonly Part[] },
  maxWait: number,
  choice: number,
): Settlement {
  const back: Part[] = []
  const more: Part[] = []
  for (const [i, part] of parts.entries()) {
    const kind = (choice + i) % 4
    if (kind < 2) back.push({ ...part, cost: kind === 0 ? part.cost : Math.ceil(part.cost / 2) })
    if (kind === 2) more.push({ ...part, cost: 1 + (choice % 3) * limitOf(part.policy) })
  }
  return { place, back, more, maxWait }
}
