import fc from "fast-check"
import { expect, test } from "vitest"
import { Agenda } from "./agenda.js"

test("an agenda gives the soonest first, whatever comes and goes in between", () => {
  const steps = fc.array(fc.option(fc.integer({ min: 0, max: 20 }), { freq: 3 }), { maxLength: 60 })
  const holds = fc.property(steps, (due) => {
    const agenda = new Agenda<number>()
    const sorted: number[] = []
    for (const each of due) {
      if (each === null) {
        expect(agenda.shift()).toBe(sorted.shift())
      } else {
        agenda.add(each, each)
        sorted.push(each)
        sorted.sort((a, b) => a - b)
      }
      expect(agenda.next).toBe(sorted[0] ?? Number.POSITIVE_INFINITY)
      expect(agenda.size).toBe(sorted.length)
    }
  })
  fc.assert(holds, { seed: 4, numRuns: 2_000 })
})
