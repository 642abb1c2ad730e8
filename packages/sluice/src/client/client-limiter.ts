import type { Decision } from "../decision.js"
import { type Duration, milliseconds } from "../duration.js"
import { checkFields, SluiceError, shown } from "../errors.js"
import type { Inspection } from "../inspect.js"
import type { Reservation } from "../limiter.js"
import type { Amount, Cost, Policies } from "../policies.js"
import type { Pending } from "../reservation.js"
import type { Signal } from "../waiting/wait-options.js"
import type { Caller, CallOptions } from "./caller.js"
import { reviveDecision, reviveInspection } from "./revive.js"

export interface ClientRequestOptions {
  /** Units, or units by policy name. Default: 1. */
  readonly cost?: Cost<Policies> | undefined
  /** Ends the call, which rejects with the signal's reason. */
  readonly signal?: Signal | undefined
}

export interface ClientTryAcquireOptions extends ClientRequestOptions {
  /** How long the request may wait for its turn, on the server. Default: 0. */
  readonly timeout?: Duration | undefined
}

export interface ClientReserveOptions extends ClientRequestOptions {
  /** How long it can be settled. Default: `"10m"`. After that it has cost the estimate. */
  readonly ttl?: Duration | undefined
}

/** A limiter on a server. It decides as `Limiter` does, under the policies of the server. */
export interface ClientLimiter {
  readonly name: string
  /** Spends the cost if every policy has room. With `timeout`, it waits that long for its turn. */
  tryAcquire(key: string, options?: ClientTryAcquireOptions): Promise<Decision>
  /** Decides as `tryAcquire` would, and spends nothing. */
  peek(key: string, options?: ClientRequestOptions): Promise<Decision>
  /** Spends an estimate. Settle it when the true cost is known. */
  reserve(key: string, options?: ClientReserveOptions): Promise<Reservation>
  /** Finds a reservation by its id, whichever process made it. */
  reservation(key: string, id: string): Pending
  /** Spends a cost that was already used, whether there is room or not. */
  charge(key: string, cost: Amount<Policies>): Promise<Decision>
  /** For operators: gives spent units back to a key. */
  refund(key: string, cost: Amount<Policies>): Promise<void>
  /** For operators: makes a key like new. */
  reset(key: string): Promise<void>
  /** For operators: shows what is stored for a key. */
  inspect(key: string): Promise<Inspection>
}

export function clientLimiter(call: Caller, name: string): ClientLimiter {
  if (typeof name !== "string" || name === "") {
    throw new SluiceError("INVALID_OPTION", `name must be a non-empty string, got ${shown(name)}`)
  }
  const path = `/v1/limiters/${encodeURIComponent(name)}`
  const post = <T>(what: string, body: { key: string }, options?: CallOptions) => {
    const { key } = body
    if (typeof key !== "string" || key === "") {
      throw new SluiceError("INVALID_KEY", `key must be a non-empty string, got ${shown(key)}`)
    }
    return call<T>("POST", `${path}/${what}`, { ...options, body })
  }
  /** A denial has its decision in a member, a grant is a decision itself. */
  const decide = async (what: string, body: { key: string }, options?: CallOptions) => {
    const answer = await post<{ decision?: Decision } | null>(what, body, options)
    return answer?.decision ?? reviveDecision(answer)
  }
  const settle = async (what: string, body: { key: string; id: string; cost?: Amount<Policies> }) =>
    (await post<{ settled: boolean }>(what, body)).settled
  const pending = (key: string, id: string): Pending => ({
    id,
    settle: (cost) => settle("settle", { key, id, cost }),
    cancel: () => settle("cancel", { key, id }),
  })

  return {
    name,
    async tryAcquire(key, options = {}) {
      checkFields("INVALID_OPTION", "a request", options, ["cost", "timeout", "signal"])
      const { cost, timeout = 0, signal } = options
      if (timeout === 0) return decide("acquire", { key, ...costOf(cost) }, { signal })
      const wait = milliseconds(timeout, "timeout", "INVALID_OPTION")
      return decide("acquire", { key, ...costOf(cost), ...{ timeout: wait } }, { signal, wait })
    },
    async peek(key, options = {}) {
      checkFields("INVALID_OPTION", "a peek", options, ["cost", "signal"])
      return decide("peek", { key, ...costOf(options.cost) }, options)
    },
    async reserve(key, options = {}) {
      checkFields("INVALID_OPTION", "a reservation", options, ["cost", "ttl", "signal"])
      const { cost, ttl, signal } = options
      const body = { key, ...costOf(cost), ...(ttl !== undefined && { ttl }) }
      const answer = await post<{ id?: string; decision: Decision }>("reserve", body, { signal })
      const { id } = answer
      const decision = reviveDecision(answer.decision)
      if (id !== undefined) return { decision, ...pending(key, id) }
      // A denied reservation has nothing to settle.
      return { decision, id: "", settle: async () => false, cancel: async () => false }
    },
    reservation: pending,
    charge: async (key, cost) => decide("charge", { key, ...costOf(cost) }),
    refund: async (key, cost) => post("refund", { key, ...costOf(cost) }),
    reset: async (key) => post("reset", { key }),
    inspect: async (key) => reviveInspection(await post<Inspection>("inspect", { key })),
  }
}

/** The cost as a field. JSON would turn NaN and infinity into null, so numbers are checked here. */
function costOf(cost: Cost<Policies> | undefined): { cost?: Cost<Policies> } {
  if (cost === undefined) return {}
  const units = typeof cost === "number" ? [cost] : Object.values(cost ?? { cost: Number.NaN })
  if (units.every((each) => Number.isSafeInteger(each) && each >= 0)) return { cost }
  throw new SluiceError(
    "INVALID_COST",
    `cost must be an integer, or integers by policy name, got ${shown(cost)}`,
  )
}
