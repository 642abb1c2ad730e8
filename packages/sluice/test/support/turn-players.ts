import fc from "fast-check"
import type { MemoryStore, Part, Policy, Turn } from "sluice"
import { scopeOf } from "sluice"
import { storeOver } from "../../src/stores/memory/memory-store.js"
import { Shelf } from "../../src/stores/memory/shelf.js"
import type { Grant } from "./bounds.js"
import { anySize, costOf, EPOCH, edgesOf, forward, type Move, moved, type Size } from "./moves.js"
import { limitOf, periodOf } from "./policy-kinds.js"

export interface Act {
  readonly call: "spend" | "book" | "leave" | "charge" | "reserve" | "settle"
  readonly move: Move
  readonly size: Size
  readonly choice: number
}

export const acts = (calls: readonly Act["call"][], maxLength = 30, move = mostlyHere) =>
  fc.array(
    fc.record<Act>({
      call: fc.constantFrom(...calls),
      move,
      size: fc.oneof(
        { weight: 3, arbitrary: fc.constant({ of: "one", n: 0 } as const) },
        { weight: 2, arbitrary: anySize },
      ),
      choice: fc.integer({ min: 0, max: 11 }),
    }),
    { minLength: 2, maxLength, size: "max" },
  )

export const mostlyHere: fc.Arbitrary<Move> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ to: "here", size: 0, nudge: 0 } as const) },
  { weight: 2, arbitrary: forward },
)

export interface Played {
  readonly admitted: Grant[]
  readonly turns: readonly number[]
}

export function storeAt(): { store: MemoryStore; at(us: number): void } {
  let now = EPOCH
  const store = storeOver(new Shelf(2 ** 20, Number.POSITIVE_INFINITY), () => now / 1_000)
  return {
    store,
    at(us) {
      now = us
    },
  }
}

export function play(
  policy: Policy,
  history: readonly Act[],
  change = (store: MemoryStore) => store,
  log?: (s: string) => void,
) {
  const { store: plain, at: setClock } = storeAt()
  const store = change(plain)
  let admitted: { at: number; units: number; turn?: Turn; reserved?: number }[] = []
  let now = EPOCH
  let edges: number[] = []
  const booked: number[] = []
  for (const [i, { call, move, size, choice }] of history.entries()) {
    const coming = admitted.filter(({ turn }) => turn !== undefined && turn.at > now)
    now = moved(now, move, { policy, edges: [...edges, ...coming.slice(-3).map(({ at }) => at)] })
    setClock(now)
    const cost = costOf(size, policy)
    const parts: Part[] = [{ scope: scopeOf("test", "default"), key: "key", policy, cost }]
    const maxWait = choice === 0 ? 0 : Math.min(periodOf(policy) * choice, 3e14)
    const say = (s: string) => log?.(`${now - EPOCH} ${call} ${cost}: ${s}`)
    if (call === "spend") {
      const answer = store.ask({ parts, count: 1 + (choice % 3), mode: "spend" })
      say(`${answer.granted} of ${1 + (choice % 3)}`)
      if (answer.granted > 0) admitted.push({ at: now, units: cost * answer.granted })
      edges = edgesOf(parts, answer, now)
    } else if (call === "book") {
      const answer = store.ask({ parts, count: 1, mode: "book", maxWait })
      say(`${answer.granted} at ${(answer.turn ?? NaN) - EPOCH} maxWait ${maxWait}`)
      if (answer.granted > 0) {
        const turn = { parts, at: answer.turn as number, marks: answer.marks as number[] }
        booked.push(turn.at)
        admitted.push({ at: turn.at, units: cost, turn })
      }
    } else if (call === "leave") {
      const turns = admitted.filter(({ turn }) => turn !== undefined)
      const ahead = turns.filter(({ at }) => at > now)
      const among = ahead.length > 0 && choice !== 6 ? ahead : turns
      const index = choice < 4 ? among.length - 1 : choice < 7 ? 0 : (choice * 7) % Math.max(among.length, 1)
      const entry = among[index]
      if (entry?.turn === undefined) continue
      say(`turn ${entry.at - EPOCH} of ${entry.units}`)
      store.leave(entry.turn)
      admitted = admitted.filter((each) => each !== entry)
    } else if (call === "charge") {
      say("")
      store.ask({ parts, count: 1, mode: "charge", maxWait })
    } else if (call === "reserve") {
      const note = { place: { scope: scopeOf("test", `r${i}`), key: "key" }, lasts: periodOf(policy) * 3 }
      const answer = store.ask({ parts, count: 1, mode: "reserve", note })
      say(`${answer.granted}`)
      if (answer.granted > 0) admitted.push({ at: now, units: cost, reserved: i })
    } else {
      const reserved = admitted.filter((each) => each.reserved !== undefined)
      const entry = reserved[choice % Math.max(reserved.length, 1)]
      if (entry?.reserved === undefined) continue
      const actual = choice % 2 === 0 ? 0 : Math.floor((entry.units * choice) / 11)
      const back = { ...(parts[0] as Part), cost: entry.units - actual }
      const place = { scope: scopeOf("test", `r${entry.reserved}`), key: "key" }
      const settled = store.settle({ place, back: back.cost > 0 ? [back] : [], more: [], maxWait })
      say(`r${entry.reserved} of ${entry.units} at ${entry.at - EPOCH} to ${actual}: ${settled}`)
      if (!settled) continue
      admitted = admitted.filter((each) => each !== entry)
      if (actual > 0) admitted.push({ at: entry.at, units: actual })
    }
  }
  admitted.sort((a, b) => a.at - b.at)
  return { admitted, booked, limit: limitOf(policy) }
}
