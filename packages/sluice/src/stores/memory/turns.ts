import type { Cells, Level, Numbers } from "../../algorithm.js"
import { type AnyAlgorithm, type Counting, countingOf } from "../../algorithms/index.js"
import type { Scope } from "../../state-key.js"
import type { Answer, Ask, Part, Settlement, Turn } from "../../store.js"
import type { Forgotten } from "./forgotten.js"
import type { Shelf } from "./shelf.js"

/** A part of an ask as it stands at some time. */
export interface Looked {
  readonly algorithm: AnyAlgorithm
  readonly terms: unknown
  readonly slot: number | undefined
  readonly view: unknown
}

/** A turn that was given back before the end of the line, and what it costs under each part. */
type Freed = Pick<Turn, "at" | "marks"> & { readonly costs: readonly number[] }

/** How many of those are remembered for asks of the same policies. */
const MOST_TURNS = 1_024

/** What is kept beside states, told apart from them as one algorithm is from another. */
const freedTurns = { algorithm: { inNumbers: false } as AnyAlgorithm, suffix: "ft" } satisfies Counting
const reservations = { algorithm: { inNumbers: true } as AnyAlgorithm, suffix: "rs" } satisfies Counting

/** Asks that look further than this moment: turns, debt, and debits that are settled later; `modes.lua` is the twin. */
export function turnsOn(
  shelf: Shelf,
  forgotten: Forgotten,
  look: (part: Part, now: number) => Looked,
  giveBack: (parts: readonly Part[], at: number | undefined, now: number) => void,
) {
  /** Has an algorithm write the state of a part. */
  const write = (
    part: Part,
    now: number,
    by: (looked: Looked, cells: Cells, cell: number) => number,
    at = now,
  ): void => {
    const looked = look(part, at)
    const { algorithm } = looked
    const slot = looked.slot ?? shelf.findOrAdd(part.scope, countingOf(part.policy), part.key, now)
    shelf.written(slot, by(looked, shelf.cells(slot, algorithm), shelf.cell(slot, algorithm)))
  }

  /** How long until all parts have a turn. */
  const waitOf = (parts: readonly Part[], now: number): number => {
    let wait = 0
    for (const part of parts) {
      const { algorithm, terms, slot, view } = look(part, now)
      if (slot !== undefined) {
        const mended = algorithm.mend(terms, view, shelf.cells(slot, algorithm), shelf.cell(slot, algorithm))
        if (mended > 0) shelf.written(slot, mended)
      }
      wait = Math.max(wait, algorithm.turn(terms, view))
    }
    return wait
  }

  const levelsAt = (parts: readonly Part[], at: number, short: boolean): Level[] =>
    parts.map((part) => {
      const { algorithm, terms, view } = look(part, at)
      return algorithm.tell(terms, view, short)
    })

  const linesOf = (parts: readonly Part[], now: number): number[] =>
    parts.flatMap((part) => {
      const { algorithm, view } = look(part, now)
      return algorithm.line(view)
    })

  /** The turns that were given back under these policies, still to come, soonest first. */
  const freedOf = (parts: readonly Part[], now: number): Freed[] => {
    const slot = shelf.find(alike(parts), freedTurns, (parts[0] as Part).key)
    if (slot === undefined) return []
    const cells = shelf.cells(slot, freedTurns.algorithm) as Freed[][]
    const freed = cells[shelf.cell(slot, freedTurns.algorithm)] as Freed[]
    const last = forgotten.last(parts, now)
    return freed.filter(({ at, marks }) => at > now && bookedAt(marks) > last)
  }

  const keepFreed = (parts: readonly Part[], freed: Freed[], now: number): void => {
    const { key } = parts[0] as Part
    const scope = alike(parts)
    const known = shelf.find(scope, freedTurns, key)
    const last = freed.at(-1)
    if (last === undefined) {
      if (known !== undefined) shelf.remove(known)
      return
    }
    const slot = known ?? shelf.findOrAdd(scope, freedTurns, key, now)
    const cells = shelf.cells(slot, freedTurns.algorithm) as Freed[][]
    cells[shelf.cell(slot, freedTurns.algorithm)] = freed
    shelf.written(slot, last.at)
  }

  /** Puts the line of each part back to where it was before a turn, given its marks. */
  const restore = (parts: readonly Part[], marks: readonly number[], now: number): void => {
    let next = (marks.length + 1) / 2
    for (const part of parts) {
      const { algorithm, terms, slot, view } = look(part, now)
      const line = marks.slice(next, next + algorithm.lineWidth)
      next += algorithm.lineWidth
      if (slot === undefined) continue
      const cells = shelf.cells(slot, algorithm)
      const left = algorithm.restore(terms, view, line, cells, shelf.cell(slot, algorithm))
      if (left > 0) shelf.written(slot, left)
      else shelf.remove(slot)
    }
  }

  return {
    book({ parts, maxWait = 0 }: Ask, now: number): Answer {
      const wait = waitOf(parts, now)
      const freed = wait > 0 ? freedOf(parts, now) : []
      const soonest = freed.find(({ costs }) => parts.every(({ cost }, i) => cost === costs[i]))
      const sooner = soonest === undefined ? Number.POSITIVE_INFINITY : soonest.at - now
      if (soonest !== undefined && sooner < wait && sooner <= maxWait) {
        // somebody has given up a turn before the end of the line
        keepFreed(
          parts,
          freed.filter((turn) => turn !== soonest),
          now,
        )
        const levels = levelsAt(parts, soonest.at, false)
        return { granted: 1, levels, at: now, turn: soonest.at, marks: soonest.marks }
      }
      if (wait <= maxWait) {
        const turn = now + wait
        const before = linesOf(parts, now)
        const since = wait > 0 ? forgotten.since(parts, now) : now
        const levels = parts.map((part) => {
          let level: Level = []
          const take = ({ algorithm, terms, view }: Looked, cells: Cells, cell: number) => {
            const expiresAt = algorithm.take(terms, view, 1, cells, cell, wait)
            level = algorithm.tell(terms, view, false)
            return expiresAt
          }
          write(part, now, take, turn)
          return level
        })
        return { granted: 1, levels, at: now, turn, marks: [since, ...linesOf(parts, now), ...before] }
      }
      const refused = { granted: 0, levels: levelsAt(parts, now, true), at: now }
      const soon = Math.min(sooner, wait)
      return Number.isFinite(soon) ? { ...refused, turn: now + soon } : refused
    },

    leave({ parts, at, marks }: Turn, now: number): void {
      if (at <= now) {
        giveBack(forgotten.after(bookedAt(marks), parts, now), at, now)
        return
      }
      // the line that it was in has been forgotten
      if (bookedAt(marks) <= forgotten.last(parts, now)) return
      const freed = freedOf(parts, now)
      const behind = freed.findLastIndex((turn) => turn.at <= at) + 1
      freed.splice(behind, 0, { at, costs: parts.map(({ cost }) => cost), marks })
      // the line goes back by its last turn, and further if the turn before that was given back already
      const isLast = (lines: readonly number[], turn: Freed) =>
        lines.every((number, i) => number === turn.marks[i + 1])
      for (;;) {
        const lines = linesOf(parts, now)
        const last = freed.findLastIndex((turn) => isLast(lines, turn))
        if (last < 0) break
        restore(parts, (freed[last] as Freed).marks, now)
        freed.splice(last, 1)
      }
      if (freed.length > MOST_TURNS) freed.shift()
      keepFreed(parts, freed, now)
    },

    charge({ parts, maxWait = 0 }: Ask, now: number): Answer {
      let granted = 1
      for (const part of parts) {
        const { algorithm, terms, view } = look(part, now)
        granted = algorithm.room(terms, view, granted)
      }
      for (const part of parts) {
        write(part, now, ({ algorithm, terms, view }, cells, cell) =>
          algorithm.charge(terms, view, maxWait, cells, cell),
        )
      }
      const levels = levelsAt(parts.map(forOne), now, true)
      return { granted, levels, at: now }
    },

    /** Notes a debit of now. */
    note({ parts, note }: Ask, now: number): void {
      if (note === undefined) return
      const { place, lasts } = note
      const slot = shelf.findOrAdd(place.scope, reservations, place.key, now)
      const { near } = shelf.cells(slot, reservations.algorithm) as Numbers
      const cell = shelf.cell(slot, reservations.algorithm)
      near[cell] = forgotten.since(parts, now)
      near[cell + 1] = now + lasts
      shelf.written(slot, now + lasts)
    },

    settle({ place, back, more, maxWait }: Settlement, now: number): boolean {
      const slot = shelf.find(place.scope, reservations, place.key)
      if (slot === undefined) return false
      const { near } = shelf.cells(slot, reservations.algorithm) as Numbers
      const cell = shelf.cell(slot, reservations.algorithm)
      const [debitedAt, till] = [near[cell] as number, near[cell + 1] as number]
      if (till <= now) return false
      shelf.remove(slot)
      giveBack(forgotten.after(debitedAt, back, now), debitedAt, now)
      if (more.length > 0) this.charge({ parts: more, count: 1, mode: "charge", maxWait }, now)
      return true
    },
  }
}

/** When a turn was booked: the first of its marks. Then come the lines of all parts, first with it, then before it. */
function bookedAt(marks: readonly number[]): number {
  return marks[0] as number
}

/** The part with the cost that decides when anything passes again. */
function forOne(part: Part): Part {
  return part.cost === 1 ? part : { ...part, cost: 1 }
}

/** A scope that asks of the same policies and keys have in common. */
function alike(parts: readonly Part[]): Scope {
  const id = JSON.stringify(parts.map(({ scope, key, policy }) => [scope.id, key, policy]))
  return { id, limiter: (parts[0] as Part).scope.limiter, policy: "", head: "", tail: "" }
}
