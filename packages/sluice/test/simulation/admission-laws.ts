import type { Policy } from "sluice"
import type { PolicyRequest, StateRef } from "sluice/store"
import { GRACE } from "../../src/clock.js"
import { limitOf, periodOf } from "../support/policy-kinds.js"
import type { Clocks } from "./cache-laws.js"
import type { LawBook } from "./law-book.js"
import { placeName, type WireAsk } from "./script-call.js"
import type { Executed } from "./simulated-server.js"
import { overAdmission, type Units } from "./spans.js"

const BOUND = "no more than the policy admits in any span"

/** Units that a caller was let through with. */
interface Admission {
  readonly v: number
  readonly call: Executed
  readonly units: number
  /** What was given back of them later. */
  readonly returned: { readonly call: Executed; readonly units: number }[]
}

/** What is known of one key under one policy. */
interface Account {
  readonly policy: Policy
  readonly admitted: Admission[]
  readonly gifts: { readonly call: Executed; readonly units: number }[]
}

/** What is known of a key whether it was admitted or not. */
interface Losses {
  readonly resets: Executed[]
  /** Those that were no resets, but calls that were too long on their way. */
  readonly undone: Executed[]
  /** Units given back of debits that the server knows nothing of any more. */
  strays: number
}

/** A turn on a server: when it is, the call that booked it first, and those whose callers still hold it. */
interface BookedTurn {
  readonly v: number
  readonly call: Executed
  /** More than one if a restart has forgotten a booking: then the turn is booked twice. */
  readonly holders: Executed[]
}

/**
 * The bound: in any span, no more is let through than the policy admits, by the times at which the store decided; and what
 * was given, and what a failover or a restart has forgotten.
 */
export class AdmissionLaws {
  readonly #book: LawBook
  readonly #maxWait: number
  readonly #clocks: Clocks
  readonly #accounts = new Map<string, Account>()
  readonly #losses = new Map<string, Losses>()
  readonly #calls = new Map<string, Executed>()
  readonly #turns = new Map<string, BookedTurn>()
  readonly #reserved = new Map<string, { place: string; admission: Admission }[]>()
  readonly #settled = new Map<string, Executed>()

  /** `maxWait` microseconds is how far ahead turns may lie. */
  constructor(book: LawBook, clocks: Clocks, maxWait: number) {
    this.#book = book
    this.#clocks = clocks
    this.#maxWait = maxWait
  }

  executed(call: Executed): void {
    for (const [i, request] of call.asks.entries()) {
      const outcome = call.outcomes[i]
      if (outcome === undefined || outcome instanceof Error) continue
      if (outcome.granted > 0) {
        for (const policy of request.parts)
          this.#calls.set(`${call.from} ${call.at} ${placeName(policy)}`, call)
      }
      if (this.#undoes(call, request)) {
        for (const stateRef of request.parts) {
          this.#reset(call, placeName(stateRef))
          this.#lossesOf(placeName(stateRef)).undone.push(call)
        }
      }
      this.#noteGiven(call, request, outcome.granted)
      if (request.mode !== "book" || outcome.answer?.receipt === undefined) continue
      const { turn = call.at, receipt } = outcome.answer
      const name = turnName(request.parts, receipt)
      // one that was given back and booked again is the turn it was
      const known = this.#turns.get(name)
      if (known !== undefined) known.holders.push(call)
      else this.#turns.set(name, { v: call.v + turn - call.at, call, holders: [call] })
    }
  }

  /** The call that granted something at a moment of the store's clock. */
  #callOf(from: string, at: number, stateRef: StateRef): Executed | undefined {
    return this.#calls.get(`${from} ${at} ${placeName(stateRef)}`)
  }

  /** A caller of a process is let through, by a decision of that moment; `note` is where it is reserved. */
  admit(from: string, at: number, policies: readonly PolicyRequest[], note?: string): void {
    const call = this.#callOf(from, at, policies[0] as PolicyRequest)
    if (call === undefined) {
      this.#book.breach("nobody is let through without a decision of the store", `${from} at ${at}`)
      return
    }
    const reserved = this.#admitAt(call.v, call, policies)
    if (note !== undefined) this.#reserved.set(note, reserved)
  }

  /** Somebody goes whose turn has come. */
  admitTurn(policies: readonly PolicyRequest[], receipt: readonly number[]): void {
    const turn = this.#turns.get(turnName(policies, receipt))
    if (turn === undefined) this.#book.breach("nobody goes by a turn that was never booked", receipt.join())
    else this.#admitAt(turn.v, letGo(turn), policies)
  }

  check(): void {
    for (const [stateRef, account] of this.#accounts) {
      const { resets, strays } = this.#lossesOf(stateRef)
      for (const admitted of generations(account, resets)) {
        const kept = account.gifts.filter(({ call }) => !call.lost)
        const gifts = kept.map(({ call, units }) => ({ v: call.v, units }))
        const wrong = overAdmission(account.policy, admitted, {
          gifts,
          horizon: this.#maxWait + 2 * periodOf(account.policy),
          units: strays,
          time: this.#clocks.disagree,
        })
        if (wrong !== undefined) this.#book.breach(BOUND, `${stateRef}: ${wrong}`)
      }
    }
  }

  #admitAt(v: number, call: Executed, policies: readonly PolicyRequest[]) {
    return policies.map((policy) => {
      const admission: Admission = { v, call, units: policy.cost, returned: [] }
      this.#account(policy).admitted.push(admission)
      return { place: placeName(policy), admission }
    })
  }

  #noteGiven(call: Executed, request: WireAsk, granted: number): void {
    const { mode, parts: policies, count } = request
    if (mode === "forget") {
      for (const stateRef of new Set(policies.map(placeName))) this.#reset(call, stateRef)
    }
    if (mode === "give") {
      for (const policy of policies) {
        const units = Math.min(policy.cost, limitOf(policy.policy) * 2)
        if (count === -1) this.#account(policy).gifts.push({ call, units })
        else this.#returned(policy, this.#callOf(call.from, count as number, policy), call)
      }
    }
    if (mode === "leave") {
      const receipt = (count as readonly number[]).slice(1 + policies.length)
      const turn = this.#turns.get(turnName(policies, receipt))
      for (const part of policies) this.#returned(part, turn?.call, call)
      if (turn !== undefined) letGo(turn)
    }
    if (mode === "settle" && granted === 1) {
      const name = request.note?.ref.id ?? ""
      const before = this.#settled.get(name)
      const once = before === undefined || before.lost || before.epoch !== call.epoch
      this.#book.require(once, "a reservation is settled once", () => name)
      this.#settled.set(name, call)
      const reserved = this.#reserved.get(name) ?? []
      for (const [i, part] of policies.entries()) {
        if ((count as readonly number[])[i + 1] === 1) continue
        const found = reserved.find(({ place: stateRef }) => stateRef === placeName(part))
        found?.admission.returned.push({ call, units: part.cost })
        if (found !== undefined) this.#returned(part, found.admission.call, call)
      }
    }
  }

  /**
   * By the clock of the caller, a call that was long on its way looks as if the clock had gone back: what was counted
   * since is then counted as of that time.
   */
  #undoes({ time, v }: Executed, { mode, parts: policies }: WireAsk): boolean {
    if (!this.#clocks.callersClock || mode === "peek" || mode === "forget") return false
    const late = time - v + this.#clocks.disagree
    return policies.some(({ policy }) => late > Math.max(periodOf(policy), GRACE))
  }

  #reset(call: Executed, stateRef: string): void {
    const losses = this.#lossesOf(stateRef)
    losses.resets.push(call)
    // what the same call has granted before cannot be told from what it grants after
    for (const [i, { mode, parts: policies }] of call.asks.entries()) {
      const outcome = call.outcomes[i]
      if (mode === "forget" || outcome === undefined || outcome instanceof Error) continue
      const cost = policies.find((policy) => placeName(policy) === stateRef)?.cost ?? 0
      losses.strays += outcome.granted * cost
    }
  }

  /**
   * Something is given back; if the debit is gone already, it is other units that are given back. Of what was reset, nothing
   * is given back, unless the clock of the process that spent is ahead of the one that reset.
   */
  #returned(policy: PolicyRequest, debit: Executed | undefined, call: Executed): void {
    const losses = this.#lossesOf(placeName(policy))
    const gone =
      debit === undefined ||
      debit.lost ||
      debit.epoch !== call.epoch ||
      (this.#clocks.callersClock &&
        losses.resets.some((reset) => !reset.lost && reset.order >= debit.order)) ||
      losses.undone.some((undone) => !undone.lost && undone.order >= debit.order)
    if (gone) losses.strays += policy.cost
  }

  #lossesOf(stateRef: string): Losses {
    let losses = this.#losses.get(stateRef)
    if (losses === undefined) {
      losses = { resets: [], undone: [], strays: 0 }
      this.#losses.set(stateRef, losses)
    }
    return losses
  }

  #account(policy: PolicyRequest): Account {
    const name = placeName(policy)
    let account = this.#accounts.get(name)
    if (account === undefined) {
      account = { policy: policy.policy, admitted: [], gifts: [] }
      this.#accounts.set(name, account)
    }
    return account
  }
}

function turnName(policies: readonly PolicyRequest[], receipt: readonly number[]): string {
  return `${placeName(policies[0] as PolicyRequest)} ${receipt.join()}`
}

/** Somebody goes by a turn or gives it back. The call that booked it: one that the server remembers, if there is one. */
function letGo({ call, holders }: BookedTurn): Executed {
  const kept = holders.findIndex(({ lost }) => !lost)
  return holders.splice(Math.max(kept, 0), 1)[0] ?? call
}

/** What was admitted, and not undone or given back, between times at which everything was forgotten. */
function generations({ admitted }: Account, resets: readonly Executed[]): Units[][] {
  const groups = new Map<string, Units[]>()
  for (const { v, call, units, returned } of admitted) {
    if (call.lost) continue
    let left = units
    for (const each of returned) if (!each.call.lost) left -= each.units
    if (left <= 0) continue
    const before = resets.filter((reset) => !reset.lost && reset.order <= call.order).length
    const name = `${call.epoch} ${before}`
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [{ v, units: left }])
    else group.push({ v, units: left })
  }
  return [...groups.values()].map((group) => group.sort((a, b) => a.v - b.v))
}
