import { type Behind, isOf, type Report, spansSlots } from "./claim.js"
import { decide } from "./decide.js"
import { type Decision, policyEntries } from "./decision.js"
import { type Duration, milliseconds } from "./duration.js"
import { checkFields, SluiceError, shown } from "./errors.js"
import { listener } from "./events.js"
import type { OutagePolicy } from "./layers/outage-options.js"
import { letPass, unheard } from "./mode.js"
import { type Charge, charges } from "./policies.js"
import { reservedUnder } from "./reservation.js"
import { sharedSymbol } from "./shared.js"
import type { StoreReply } from "./store.js"
import { checkSignal, refusal, type Signal } from "./waiting/wait-options.js"

declare const names: unique symbol

/** A request to one limiter for one key, made by `limiter.on` and combined with others. */
export interface Claim<Name extends string = string> {
  readonly limiter: string
  readonly key: string
  /** Exists only in types: the names of its policies, as `limiter:policy`. */
  readonly [names]?: Name
}

/** Units by the names of limiter and policy: `{ "users:tokens": 500 }`. */
export type CombinedAmount<Name extends string> = { readonly [N in Name]?: number }

/** An estimate that was spent in all limiters, or in none. */
export interface CombinedReservation<Name extends string = string> extends CombinedPending<Name> {
  /** Whether the estimate was spent. A denied reservation has nothing to settle. */
  readonly decision: Decision<Name>
}

/** A reservation in all limiters. Any process with its id can settle it once. */
export interface CombinedPending<Name extends string = string> {
  readonly id: string
  /** States the actual cost. A policy that is not named stays as reserved. */
  settle(actual: CombinedAmount<Name>): Promise<boolean>
  /** Settles it at a cost of 0. */
  cancel(): Promise<boolean>
}

/** Several limits that decide as one. The claims carry the costs. */
export interface Combined<Name extends string = string> {
  /** Spends in all of them or in none. With `timeout`, it waits that long for its turn. */
  tryAcquire(options?: {
    readonly timeout?: Duration | undefined
    readonly signal?: Signal | undefined
  }): Promise<Decision<Name>>
  /** Waits for a turn in all of them. In a Cluster, all keys must be in one slot. */
  acquire(options?: { readonly signal?: Signal | undefined }): Promise<Decision<Name>>
  /** Decides as `tryAcquire` would, and spends nothing. */
  peek(): Promise<Decision<Name>>
  /** Spends an estimate in all of them or in none. Settle it when the true cost is known. */
  reserve(options?: { readonly ttl?: Duration | undefined }): Promise<CombinedReservation<Name>>
  /** Finds a reservation by its id, whichever process made it. */
  reservation(id: string): CombinedPending<Name>
  /** Spends a cost that was already used, whether there is room or not. A policy that is not named is not charged. */
  charge(cost: CombinedAmount<Name>): Promise<Decision<Name>>
}

const BEHIND: unique symbol = sharedSymbol("claim") as never

/** A claim with its private data. Every request makes several, and a WeakMap would take longer than everything else. */
class Made implements Claim {
  readonly limiter: string
  readonly key: string
  readonly #behind: Behind

  constructor(behind: Behind) {
    this.limiter = behind.limiter
    this.key = behind.key
    this.#behind = behind
  }

  [BEHIND](): Behind {
    return this.#behind
  }

  static behind(claim: unknown): Behind {
    if (typeof claim === "object" && claim !== null && BEHIND in claim) return (claim as Made)[BEHIND]()
    throw new SluiceError("INVALID_OPTION", `combine takes results of limiter.on, got ${shown(claim)}`)
  }
}

/** Makes a claim. */
export function claimOn<Name extends string>(behind: Behind): Claim<Name> {
  return new Made(behind)
}

/** Bounds the work of one atomic step, because Redis does nothing else meanwhile. */
const MOST_CLAIMS = 64

/** The names of the policies of claims. */
type NamesOf<C extends readonly Claim[]> = C[number] extends Claim<infer Name> ? Name : never

/**
 * Combines limits over different keys, for example of an organisation and a user, all or nothing:
 * `combine([organisations.on(org), users.on(user)])`. It takes up to 64 claims.
 *
 * The store decides in one atomic step if it can. In a Cluster, keys in different slots are spent one by one, and given back
 * if one of them denies. During an outage, the strictest fallback of the limiters decides.
 */
export function combine<const C extends readonly Claim[]>(claims: C): Combined<NamesOf<C>> {
  type Name = NamesOf<C>
  checkClaims(claims)
  const all: readonly Behind[] = claims.map(Made.behind)
  refuseStrangers(all)
  refuseTwice(all)
  const lead = strictest(all)
  const { store } = lead
  const maxWait = Math.min(...all.map((each) => each.maxWait))

  /** The charges of these claims, named by limiter and policy. */
  const asked = (of: readonly Behind[] = all): Charge<Name>[] => {
    const found: Charge<Name>[] = []
    for (const { limiter, key: own, policies, cost: units } of of) {
      for (const { name, ref, key, policy, cost } of charges(policies(), own, units())) {
        found.push({ name: `${limiter}:${name}` as Name, ref, key, policy, cost })
      }
    }
    return found
  }

  const request = async (mode: "spend" | "peek", of: readonly Behind[] = all): Promise<Decision<Name>> => {
    const policies = asked(of)
    const decision = decideKnown(policies, await store.decide({ policies, count: 1, mode }))
    return mode === "peek" ? decision : report("tryAcquire", policies, decision)
  }

  const report: Report<Name> = (call, charged, decision) => {
    listener?.combined(
      all.map((each) => ({ limiter: each.limiter, call, charged: charged.filter(isOf(each)) })),
      decision,
    )
    return decision
  }

  /** Asks the limiters that enforce, then those that observe: they cannot deny the others. */
  const askBoth = async (
    mode: "spend" | "peek",
    enforced: (of: readonly Behind[]) => Promise<Decision<Name>> = (of) => request(mode, of),
  ): Promise<Decision<Name>> => {
    const observing = all.filter((each) => each.observes())
    if (observing.length === 0) return enforced(all)
    const enforcing = all.filter((each) => !observing.includes(each))
    const first = enforcing.length > 0 ? await enforced(enforcing) : undefined
    if (first?.allowed === false) return first
    const policies = asked(observing)
    const reply = await Promise.resolve(store.decide({ policies, count: 1, mode })).catch(() => unheard)
    const second = letPass(decideKnown(policies, reply))
    if (mode !== "peek") report("tryAcquire", policies, second)
    if (first === undefined) return second
    const both = { ...first, policies: [...policyEntries(first), ...policyEntries(second)] }
    return second.observed === undefined ? both : { ...both, observed: second.observed }
  }

  const wait = async (mostWait: number, signal: Signal | undefined, of: readonly Behind[]) => {
    const policies = asked(of)
    checkSignal(signal)
    if (spansSlots(lead.baseStore, policies)) throw acrossSlots()
    const { room } = lead.waiters
    const hasRoom = room.hasRoom(lead.key)
    const joined = lead.waiters.join(policies, hasRoom ? mostWait : 0, signal, lead.key)
    listener?.wait(lead.limiter, joined, signal)
    const reply = await joined
    const full = hasRoom ? undefined : (ms: number) => room.refusal(lead.key, lead.limiter, ms)
    return { decision: report("acquire", policies, decide(policies, reply)), reply, full }
  }

  // Loaded on first use: few programs reserve over several limiters, and the others need not download it.
  const budget = async () => {
    const { budgetOver } = await import("./combined-budget.js")
    return budgetOver<Name>({ all, store, maxWait, asked, peek: () => request("peek"), report })
  }

  return {
    async tryAcquire(options = {}) {
      checkFields("INVALID_OPTION", "a request", options, ["timeout", "signal"])
      const { timeout = 0, signal } = options
      checkSignal(signal)
      if (timeout === 0) return askBoth("spend")
      const most = Math.min(milliseconds(timeout, "timeout", "INVALID_OPTION") * 1_000, maxWait)
      return askBoth("spend", async (of) => (await wait(most, signal, of)).decision)
    },
    async acquire(options = {}) {
      checkFields("INVALID_OPTION", "an acquire", options, ["signal"])
      return askBoth("spend", async (of) => {
        const { decision, reply, full } = await wait(maxWait, options.signal, of)
        if (!decision.allowed) throw refusal(decision, reply, { limiter: lead.limiter, maxWait, full })
        return decision
      })
    },
    peek: () => askBoth("peek"),
    reserve: async (options) => (await budget()).reserve(options),
    reservation(id) {
      reservedUnder(id)
      return {
        id,
        settle: async (actual) => (await budget()).pending(id).settle(actual),
        cancel: async () => (await budget()).pending(id).cancel(),
      }
    },
    charge: async (cost) => (await budget()).charge(cost),
  }
}

/** Explains a reply. A reply of the deny cache has only the levels of the denied key, so other policies are left out. */
function decideKnown<Name extends string>(
  policies: readonly Charge<Name>[],
  reply: StoreReply,
): Decision<Name> {
  const { levels } = reply
  const isKnown = (_: unknown, i: number) => levels[i] !== undefined
  if (reply.source !== "cache" || policies.every(isKnown)) return decide(policies, reply)
  return decide(policies.filter(isKnown), { ...reply, levels: levels.filter((level) => level !== undefined) })
}

/** How strict an outage policy is. A denial is stricter than an error, which a caller may catch to let a request pass. */
function strictness(policy: OutagePolicy): number {
  if (typeof policy === "object") return 1 - policy.local / 2
  return { open: 0, throw: 2, closed: 3 }[policy]
}

function strictest(all: readonly Behind[]): Behind {
  return all.reduce((best, each) => (strictness(each.outage) > strictness(best.outage) ? each : best))
}

function checkClaims(claims: unknown): asserts claims is readonly Claim[] {
  if (!Array.isArray(claims)) {
    throw new SluiceError(
      "INVALID_OPTION",
      `combine takes an array: combine([a.on(key), b.on(key)]), got ${shown(claims)}`,
    )
  }
  if (claims.length === 0 || claims.length > MOST_CLAIMS) {
    throw new SluiceError("INVALID_OPTION", `combine takes 1 to ${MOST_CLAIMS} claims, got ${claims.length}`)
  }
}

function refuseStrangers(all: readonly Behind[]): void {
  const [first] = all
  if (all.every(({ baseStore, rules }) => baseStore === first?.baseStore && rules === first.rules)) return
  throw new SluiceError("INVALID_OPTION", "combined limiters must share a store and its rules")
}

function refuseTwice(claims: readonly Behind[]): void {
  const places = new Set(claims.map(({ limiter, key }) => `${limiter.length}:${limiter}${key}`))
  if (places.size === claims.length) return
  throw new SluiceError("INVALID_OPTION", "the same limiter and key are combined twice; add up their costs")
}

function acrossSlots(): SluiceError {
  return new SluiceError(
    "INVALID_OPTION",
    "the combined keys are in different slots of a Cluster, so they cannot wait for a turn. Use tryAcquire without a timeout",
  )
}
