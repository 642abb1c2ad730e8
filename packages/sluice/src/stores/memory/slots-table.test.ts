import { afterEach, expect, test, vi } from "vitest"
import { dice } from "../../../test/support/dice.js"
import type { Numbers } from "../../algorithm.js"
import { countingOf } from "../../algorithms/index.js"
import { slidingLog, tokenBucket } from "../../policy.js"
import { Slots } from "./slots.js"

const inNumbers = countingOf(tokenBucket({ capacity: 5, refill: 1, every: "1h" })).algorithm
const inObjects = countingOf(slidingLog({ limit: 5, window: "1h" })).algorithm

/** Slots, and what is to be found in them, by hash. */
function setUp() {
  const slots = new Slots()
  const model = new Map<string, number>()
  const check = (hash: Int32Array) => {
    const slot = slots.slotOf(hash)
    const value = model.get(hash.join())
    expect(slot === undefined ? undefined : held(slots, slot)).toBe(value)
    return slot
  }
  return {
    slots,
    model,
    check,
    toggle(hash: Int32Array, value: number) {
      const slot = check(hash)
      if (slot === undefined) {
        const added = slots.add(hash)
        expect(held(slots, added)).toBe(0)
        write(slots, added, value)
        model.set(hash.join(), value)
      } else {
        slots.remove(slot)
        model.delete(hash.join())
      }
      expect(slots.size).toBe(model.size)
    },
  }
}

/** Writes a state into all that a slot has: numbers near and far, an object and when it expires. */
function write(slots: Slots, slot: number, value: number): void {
  const numbers = slots.cells(slot, inNumbers) as Numbers
  const cell = slots.cell(slot, inNumbers)
  for (let i = 0; i < 4; i += 1) {
    numbers.near[cell + i] = value
    if (value % 3 === 0) numbers.far()[cell + i] = value
  }
  if (value % 3 === 1) numbers.far()[cell] = Number.NaN
  const objects = slots.cells(slot, inObjects) as object[]
  if (value % 5 === 0) objects[slots.cell(slot, inObjects)] = { value }
  slots.written(slot, value)
  if (value % 7 === 0) slots.markDenied(slot)
}

/** What was written into a slot, if all of it is there. */
function held(slots: Slots, slot: number): number {
  const numbers = slots.cells(slot, inNumbers) as Numbers
  const cell = slots.cell(slot, inNumbers)
  const value = numbers.near[cell] as number
  const row = [value, value, value, value]
  expect([...numbers.near.slice(cell, cell + 4)]).toEqual(row)
  const objects = slots.cells(slot, inObjects) as object[]
  const far = value % 3 === 0 ? row : [value % 3 === 1 ? Number.NaN : 0, 0, 0, 0]
  expect([...numbers.far().slice(cell, cell + 4)]).toEqual(far)
  const object = value > 0 && value % 5 === 0 ? { value } : undefined
  expect(objects[slots.cell(slot, inObjects)]).toEqual(object)
  expect(slots.expiresAt(slot)).toBe(value)
  expect(slots.denied(slot)).toBe(value > 0 && value % 7 === 0)
  return value
}

test.each<[string, (n: number) => number[]]>([
  [
    "but for one integer, at the last place",
    (n) => [0x3f_ff_ff_ff, 0, 0, 0].map((word, i) => word ^ (i === 1 + (n % 3) ? n : 0)),
  ],
  ["around the end of the table", (n) => [0x7f_ff_ff_fe + (n % 5), n, 0, 0]],
  ["at one place with one tag", (n) => [(n << 10) | 0x3ff, 0, 0, 0]],
  ["at one place with different tags", (n) => [(n << 24) | 0x3ff, 0, 0, 0]],
])("hashes that meet %s are told apart as they come and go", (_, hashOf) => {
  const { toggle } = setUp()
  const roll = dice(1)
  for (let step = 1; step <= 6_000; step += 1) toggle(Int32Array.from(hashOf(roll(120))), step)
})

test("slots are found while the table grows and shrinks", () => {
  const { slots, model, toggle, check } = setUp()
  const roll = dice(2)
  const hashes: Int32Array[] = Array.from({ length: 9_000 }, (_, i) =>
    Int32Array.of(Math.imul(i + 1, 0x85ebca6b), i, 0, 0),
  )
  for (let i = 0; i < hashes.length; i += 1) toggle(hashes[i] as Int32Array, i + 1)
  for (const hash of hashes) check(hash)
  for (let i = hashes.length - 1; i >= 0; i -= 1) {
    const other = roll(i + 1)
    const hash = hashes[other] as Int32Array
    hashes[other] = hashes[i] as Int32Array
    toggle(hash, 0)
    if (i % 1_000 === 0) for (const [known] of model) check(Int32Array.from(known.split(","), Number))
  }
  expect(slots.size).toBe(0)
})

afterEach(() => vi.unstubAllGlobals())

test("a slot for which there is no memory is not added, and all others are there", () => {
  const { slots, model, toggle, check } = setUp()
  const hashes = Array.from({ length: 2_000 }, (_, i) => Int32Array.of(Math.imul(i + 1, 0x85ebca6b), i, 0, 0))
  let failures = 0
  const Integers = Int32Array
  class Failing extends Integers {
    constructor(length: number) {
      failures += 1
      if (failures % 2 === 1) throw new RangeError("Array buffer allocation failed")
      super(length)
    }
  }
  for (const [i, hash] of hashes.entries()) {
    vi.stubGlobal("Int32Array", Failing)
    while (slots.size === i) {
      try {
        slots.add(hash)
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError)
      }
    }
    vi.unstubAllGlobals()
    write(slots, i, i + 1)
    model.set(hash.join(), i + 1)
  }
  expect(failures).toBeGreaterThan(3)
  for (const hash of hashes) check(hash)
  for (const hash of hashes) toggle(hash, 0)
  expect(slots.size).toBe(0)
})
