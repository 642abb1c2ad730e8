import fc from "fast-check"
import { expect, test } from "vitest"
import type { Answer } from "../store.js"
import { type BookedTurn, Line, type Waiter } from "./line.js"

const turn = (due: number): BookedTurn => ({
  due,
  answer: { granted: 1, levels: [], at: due } satisfies Answer,
})

/** What happens to a line: somebody joins and a turn is booked, somebody gives up, or time passes. */
type Step = { join: number } | { giveUp: number } | { pass: number }

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ join: fc.integer({ min: 0, max: 50 }) }) },
    { weight: 2, arbitrary: fc.record({ giveUp: fc.nat(20) }) },
    { weight: 2, arbitrary: fc.record({ pass: fc.integer({ min: 0, max: 20 }) }) },
  ),
  { maxLength: 80, size: "max" },
)

/** Plays steps on a line and on the plainest thing that could be one. */
function play(history: readonly Step[]): void {
  const line = new Line("k")
  let waiting: { waiter: Waiter; promised: number }[] = []
  let booked: number[] = []
  const had: number[] = []
  let now = 0
  const promise = () => {
    waiting = waiting.map(({ waiter, promised }, i) => {
      // nobody's turn ever moves back
      expect(booked[i]).toBeLessThanOrEqual(promised)
      return { waiter, promised: booked[i] as number }
    })
  }
  for (const step of history) {
    if ("join" in step) {
      const waiter = { resolve: ({ at }: Answer) => had.push(at), reject: () => {} }
      line.join(waiter)
      line.add(turn(now + step.join))
      booked = [...booked, now + step.join].sort((a, b) => a - b)
      waiting = [...waiting, { waiter, promised: Number.POSITIVE_INFINITY }]
    } else if ("giveUp" in step) {
      const gone = waiting[step.giveUp % Math.max(waiting.length, 1)]
      if (gone === undefined) continue
      expect(line.remove(gone.waiter)).toBe(true)
      expect(line.remove(gone.waiter)).toBe(false)
      waiting = waiting.filter((each) => each !== gone)
      expect(line.leftOver()?.due).toBe(booked.pop())
      expect(line.leftOver()).toBe(undefined)
    } else {
      now += step.pass
      const due = booked.filter((each) => each <= now)
      const served: number[] = []
      for (const each of due) {
        expect(line.serve(now)).toBe(true)
        served.push(each)
      }
      expect(line.serve(now)).toBe(false)
      expect(had.splice(0)).toEqual(served)
      booked = booked.slice(due.length)
      waiting = waiting.slice(due.length)
    }
    promise()
    expect(line.turns.map(({ due }) => due)).toEqual(booked)
    expect(line.isEmpty).toBe(waiting.length === 0)
  }
}

test("the first in line has the first turn, and nobody's turn ever moves back", () => {
  fc.assert(fc.property(steps, play), { seed: 5, numRuns: 300 })
})
