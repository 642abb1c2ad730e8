import fc from "fast-check"
import {
  fixedWindow,
  leakyBucket,
  type MemoryStore,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "sluice"
import { type PolicyRequest, policyRef, type StateRef, type Turn } from "sluice/store"
import { describe, expect, test } from "vitest"
import { decide } from "../../src/decide.js"
import { boundWithReturns, checkBound, type Grant } from "../support/bounds.js"
import { EPOCH } from "../support/moves.js"
import { limitOf, periodOf } from "../support/policy-kinds.js"
import { sampling } from "../support/seed.js"
import { type Change, storeAt } from "../support/turn-players.js"
import { neverLeft, oneUnitMore } from "./turn-breakages.js"

/** The next action, under some of the policies. */
interface Step {
  readonly call: "book" | "leave" | "spend" | "reserve" | "settle"
  /** For each policy: the cost as a share of the limit, in twelfths, or 0 if it is left out. */
  readonly shares: readonly number[]
  /** Microseconds that pass before it, or the number of a turn to go to. */
  readonly pause: number
  readonly choice: number
}

const amount = fc.integer({ min: 1, max: 10 })
const ms = fc.constantFrom(1, 2, 3, 5, 7, 10, 20)
const align = fc.constantFrom("first" as const, "clock" as const)
const mode = fc.constantFrom("continuous" as const, "interval" as const)
const anyPolicy: fc.Arbitrary<Policy> = fc.oneof(
  fc.record({ limit: amount, window: ms, align }).map(fixedWindow),
  fc.record({ limit: amount, window: ms }).map(slidingLog),
  fc.record({ limit: amount, window: ms, buckets: fc.integer({ min: 1, max: 6 }) }).map(slidingWindow),
  fc.record({ capacity: amount, refill: amount, every: ms, mode }).map(tokenBucket),
  fc.record({ capacity: amount, leak: amount, every: ms }).map(leakyBucket),
)

const step = fc.record<Step>({
  call: fc.constantFrom("book", "book", "leave", "spend", "reserve", "settle"),
  shares: fc.array(fc.constantFrom(0, 1, 1, 4, 8, 12), { minLength: 3, maxLength: 3 }),
  pause: fc.constantFrom(0, 0, 0, -1, -2, 1, 417, 1_000, 3_000, 9_999),
  choice: fc.nat(20),
})

interface Admitted {
  readonly at: number
  readonly policies: readonly PolicyRequest[]
  readonly turn?: Turn
  readonly note?: StateRef
}

class Player {
  readonly #policies: readonly Policy[]
  readonly #store: MemoryStore
  readonly #set: (us: number) => void
  #now = EPOCH
  #admitted: Admitted[] = []
  #lastReturn = 0

  constructor(policies: readonly Policy[], change?: Change) {
    this.#policies = policies
    const { store, set } = storeAt(change)
    this.#store = store
    this.#set = set
  }

  get #period(): number {
    return Math.max(...this.#policies.map(periodOf))
  }

  #go(to: number): void {
    this.#now = Math.max(this.#now, to)
    this.#set(this.#now)
  }

  #requestOf(shares: readonly number[]): PolicyRequest[] {
    const all = this.#policies.map((policy, i) => ({
      ref: policyRef("test", `${i}`),
      key: "key",
      policy,
      cost: Math.ceil((limitOf(policy) * (shares[i] as number)) / 12),
    }))
    const some = all.filter(({ cost }) => cost > 0)
    return some.length > 0 ? some : [{ ...(all[0] as PolicyRequest), cost: 1 }]
  }

  play({ call, shares, pause, choice }: Step, index: number): void {
    const turns = this.#admitted.filter(({ turn }) => turn !== undefined)
    if (pause >= 0) this.#go(this.#now + pause)
    else this.#go(turns[(-pause * choice) % Math.max(turns.length, 1)]?.at ?? 0)
    if (call === "leave") this.#leave(turns[choice % Math.max(turns.length, 1)])
    else if (call === "settle") this.#cancel(choice)
    else this.#request(call, shares, index)
  }

  #request(call: "book" | "spend" | "reserve", shares: readonly number[], index: number): void {
    const policies = this.#requestOf(shares)
    const note = { ref: { ref: policyRef("note", `${index}`), key: "key" }, lasts: 1e9 }
    const maxWait = 6 * this.#period
    const options = call === "reserve" ? { note } : call === "book" ? { maxWait } : {}
    const { granted, turn, receipt } = this.#store.decide({ policies, count: 1, mode: call, ...options })
    if (granted === 0) return
    const at = turn ?? this.#now
    if (call === "book") this.#admitted.push({ at, policies, turn: { policies, at, receipt: receipt ?? [] } })
    else this.#admitted.push({ at, policies, ...(call === "reserve" && { note: note.ref }) })
  }

  #remove(one: Admitted): void {
    // Units that have come may count until their time is over, although they were given back.
    if (one.at <= this.#now) this.#lastReturn = this.#now
    this.#admitted = this.#admitted.filter((each) => each !== one)
  }

  #leave(one: Admitted | undefined): void {
    if (one?.turn === undefined) return
    this.#store.leave(one.turn)
    this.#remove(one)
  }

  #cancel(choice: number): void {
    const reserved = this.#admitted.filter(({ note }) => note !== undefined)
    const one = reserved[choice % Math.max(reserved.length, 1)]
    if (one?.note === undefined) return
    this.#store.settle({ ref: one.note, back: one.policies, more: [], maxWait: 0 })
    this.#remove(one)
  }

  /** Throws if more was admitted under a policy than it allows. */
  checkBounds(): void {
    for (const [i, policy] of this.#policies.entries()) {
      const grants: Grant[] = this.#admitted.flatMap(({ at, policies }) =>
        policies.filter(({ ref }) => ref.id === `test:${i}`).map(({ cost }) => ({ at, units: cost })),
      )
      grants.sort((a, b) => a.at - b.at)
      checkBound(boundWithReturns(policy), grants)
    }
  }

  /** Throws unless a request passes when it was told to come back, at the second time at the latest. */
  checkRetry({ shares }: Step): void {
    const policies = this.#requestOf(shares)
    for (let tries = 0; tries < 3; tries += 1) {
      const reply = this.#store.decide({ policies, count: 1, mode: "spend" })
      if (reply.granted === 1) {
        this.#admitted.push({ at: this.#now, policies })
        return
      }
      const charged = policies.map((request) => ({ ...request, name: request.ref.id }))
      this.#go(this.#now + decide(charged, reply).retryAfter * 1_000)
    }
    throw new Error("denied again at the time that it was told")
  }

  /** Throws if anything stays spent after all turns to come were given back and everything else is over. */
  checkNothingLeft(): void {
    const turns = this.#admitted.filter(({ turn, at }) => turn !== undefined && at > this.#now)
    for (const one of turns.toReversed()) this.#leave(one)
    const last = Math.max(this.#now, this.#lastReturn, ...this.#admitted.map(({ at }) => at))
    this.#go(last + 2 * this.#period + 1)
    for (const policy of this.#requestOf([12, 12, 12])) {
      const { granted } = this.#store.decide({ policies: [policy], count: 1, mode: "peek" })
      if (granted === 0) throw new Error(`${policy.policy.algorithm}: units stay spent`)
    }
  }
}

function search(seed: number, change?: Change) {
  const holds = fc.property(
    fc.array(anyPolicy, { minLength: 3, maxLength: 3 }),
    fc.array(step, { minLength: 4, maxLength: 30, size: "max" }),
    step,
    (policies, steps, last) => {
      const player = new Player(policies, change)
      for (const [i, each] of steps.entries()) player.play(each, i)
      player.checkBounds()
      player.checkRetry(last)
      player.checkBounds()
      player.checkNothingLeft()
    },
  )
  return fc.check(holds, sampling(seed, 30_000, change))
}

describe("turns that are given up under several policies", () => {
  test("admit no more than each bound, lock nobody out, and leave nothing spent", { timeout: 60_000 }, () => {
    const found = search(51)
    expect(found.failed, fc.defaultReportMessage(found)).toBe(false)
  })

  test.each([neverLeft, oneUnitMore])("the search finds $name", { timeout: 60_000 }, ({ change }) => {
    expect(search(52, change).failed).toBe(true)
  })
})
