import fc from "fast-check"
import { expect, test } from "vitest"
import type { StoreReply } from "../store.js"
import { Line, type Waiter } from "./line.js"

const turnAt = (at: number): StoreReply => ({ granted: 1, levels: [], at })

/** An event in a queue: a waiter joins and a turn is booked, a waiter leaves, or time passes. */
type Step = { join: number } | { giveUp: number } | { pass: number }

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ join: fc.integer({ min: 0, max: 50 }) }) },
    { weight: 2, arbitrary: fc.record({ giveUp: fc.nat(20) }) },
    { weight: 2, arbitrary: fc.record({ pass: fc.integer({ min: 0, max: 20 }) }) },
  ),
  { maxLength: 80, size: "max" },
)

/** Plays steps on a queue and on its simplest possible model. */
function play(history: readonly Step[]): void {
  const line = new Line("k")
  let waiting: { waiter: Waiter; promised: number }[] = []
  let booked: number[] = []
  const had: number[] = []
  let now = 0
  const promise = () => {
    waiting = waiting.map(({ waiter, promised }, i) => {
      // No waiter's turn ever moves back.
      expect(booked[i]).toBeLessThanOrEqual(promised)
      return { waiter, promised: booked[i] as number }
    })
  }
  for (const step of history) {
    if ("join" in step) {
      const waiter = { resolve: ({ at }: StoreReply) => had.push(at), reject: () => {} }
      line.join(waiter)
      line.add(now + step.join, turnAt(now + step.join))
      booked = [...booked, now + step.join].sort((a, b) => a - b)
      waiting = [...waiting, { waiter, promised: Number.POSITIVE_INFINITY }]
    } else if ("giveUp" in step) {
      const gone = waiting[step.giveUp % Math.max(waiting.length, 1)]
      if (gone === undefined) continue
      expect(line.remove(gone.waiter)).toBe(true)
      expect(line.remove(gone.waiter)).toBe(false)
      waiting = waiting.filter((each) => each !== gone)
      expect(line.leftOver()?.at).toBe(booked.pop())
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
    expect(line.dues).toEqual(booked)
    expect(line.isEmpty).toBe(waiting.length === 0)
  }
}

test("the first waiter gets the first turn, and no turn ever moves back", () => {
  fc.assert(fc.property(steps, play), { seed: 5, numRuns: 300 })
})

test("the turn left over is the last one in the store's queue, in whatever order turns arrived", () => {
  const booked = (at: number, turn: number): StoreReply => ({ granted: 1, levels: [], at, turn })
  const turns = [booked(1, 10), booked(2, 10), booked(3, 10), booked(3, 20)]
  const line = new Line("k")
  // Each comes a little late by the local timers, because of its network delay.
  for (const [i, late] of [
    [1, 0.4],
    [3, 0.2],
    [0, 0.5],
    [2, 0.1],
  ] as const) {
    line.add((turns[i]?.turn as number) + late, turns[i] as StoreReply)
  }
  expect(line.dues).toEqual([10.1, 10.4, 10.5, 20.2])
  for (const turn of turns.toReversed()) expect(line.leftOver()).toBe(turn)
  expect(line.dues).toEqual([])
})
