import { isPromise } from "./deferred.js"
import { SluiceError, shown } from "./errors.js"
import { checkPolicy, looksLikePolicy, type Policy } from "./policy.js"
import type { PolicyRef } from "./state-key.js"
import type { PolicyRequest } from "./store.js"

/** One policy, which gets the name `default`, or several by name. Several are charged all or nothing. */
export type Policies = Policy | Readonly<Record<string, Policy>>

/** The names of the policies in `P`. */
export type NameOf<P extends Policies> = P extends Policy ? "default" : keyof P & string

/** Units by policy name. If a function returns plans with different names, only the names that all of them have. */
type ByName<P extends Policies> = { readonly [Name in keyof P & string]?: number }

/**
 * The cost of a request. Under one policy: units. Under several: 1, or units by policy name. A policy that is not named costs
 * 1, and a cost of 0 skips the policy.
 */
export type Cost<P extends Policies> = [P] extends [Policy]
  ? number | { readonly default?: number }
  : [Policy] extends [P]
    ? number | { readonly [name: string]: number }
    : 1 | ByName<P>

/** The cost of a charge, refund or settlement. Under one policy: units. Under several: units by policy name. */
export type Amount<P extends Policies> = [P] extends [Policy]
  ? number | { readonly default?: number }
  : [Policy] extends [P]
    ? number | { readonly [name: string]: number }
    : ByName<P>

/** A policy with its name and the reference of its state. */
export interface NamedPolicy {
  readonly name: string
  readonly policy: Policy
  readonly ref: PolicyRef
  /** The key that it counts for, if policies have different keys. */
  readonly key?: string
}

export type Named = readonly NamedPolicy[]

/** The cost of a request under one policy. */
export interface Charge<Name extends string = string> extends PolicyRequest {
  readonly name: Name
}

const MOST_POLICIES = 64

/** Validates the policies that a user passed. */
export function namePolicies(value: unknown, scopeOf: (name: string) => PolicyRef): Named {
  if (looksLikePolicy(value))
    return [{ name: "default", policy: checkPolicy(value), ref: scopeOf("default") }]
  if (!isPlain(value)) {
    const hint = isPromise(value)
      ? "; a policy function cannot be async: look the plan up first, then pass it: tryAcquire(key, { policy })"
      : ""
    throw new SluiceError(
      "INVALID_POLICY",
      `policy must be a policy or a record of policies, got ${shown(value)}${hint}`,
    )
  }
  const entries = Object.entries(value)
  if (entries.length === 0 || entries.length > MOST_POLICIES) {
    throw new SluiceError(
      "INVALID_POLICY",
      `a record has 1 to ${MOST_POLICIES} policies, got ${entries.length}; names must not come from user input`,
    )
  }
  return entries.map(([name, policy]) => {
    if (name === "") throw new SluiceError("INVALID_POLICY", "a policy needs a name")
    return { name, policy: checkPolicy(policy), ref: scopeOf(name) }
  })
}

/** The cost of a request under each policy. A policy with a cost of 0 is left out. */
export function charges<Name extends string>(named: Named, key: string, cost: unknown): Charge<Name>[] {
  if (typeof cost !== "object" || !isPlain(cost)) {
    const units = checkUnits(cost, 1, "cost")
    if (units !== 1 && !isSingle(named)) throw costOfAll(named, `a cost of ${units}`)
    const charge = ({ name, policy, ref }: NamedPolicy) =>
      ({ ref, key, policy, cost: units, name }) as Charge<Name>
    return named.length === 1 ? [charge(named[0] as NamedPolicy)] : named.map(charge)
  }
  return skipZeros(byName<Name>(named, key, cost, () => 1))
}

/** The cost of a `charge` or `refund` under each policy. A policy that is not named is left out. */
export function debits<Name extends string>(named: Named, key: string, cost: unknown): Charge<Name>[] {
  if (isSingle(named)) return charges(named, key, cost)
  return skipZeros(byName<Name>(named, key, checkRecord(named, cost), () => 0))
}

/** The actual cost of a reservation under every policy. A policy that is not named stays as `reserved`. */
export function settled<Name extends string>(
  named: Named,
  key: string,
  cost: unknown,
  reserved: (name: string) => number,
): Charge<Name>[] {
  if (isSingle(named) && (typeof cost !== "object" || !isPlain(cost))) {
    const [{ name, policy, ref }] = named as [NamedPolicy]
    return [{ ref, key, policy, cost: checkUnits(cost, 0, "cost"), name: name as Name }]
  }
  return byName(named, key, checkRecord(named, cost), reserved)
}

/** A cost of 0 under every policy, at which a reservation is cancelled. */
export function nothing(named: Named): Readonly<Record<string, number>> {
  return Object.fromEntries(named.map(({ name }) => [name, 0]))
}

function byName<Name extends string>(
  named: Named,
  key: string,
  cost: Readonly<Record<string, unknown>>,
  leftOut: (name: string) => number,
): Charge<Name>[] {
  for (const name of Object.keys(cost)) {
    if (!named.some((known) => known.name === name)) {
      throw new SluiceError(
        "INVALID_COST",
        `cost names ${shown(name)}, but the policies are ${namesOf(named)}`,
      )
    }
  }
  const units = new Map(Object.entries(cost))
  return named.map(({ name, policy, ref, key: own = key }) => ({
    ref,
    key: own,
    policy,
    cost: checkUnits(units.has(name) ? units.get(name) : leftOut(name), 0, `cost of ${name}`),
    name: name as Name,
  }))
}

function skipZeros<C extends Charge>(charged: C[]): C[] {
  const left = charged.filter(({ cost }) => cost > 0)
  if (left.length > 0) return left
  throw new SluiceError("INVALID_COST", "cost is 0 for every policy")
}

/** Whether a limiter has a single policy, whose cost is a number. */
function isSingle(named: Named): boolean {
  return named.length === 1 && (named[0] as NamedPolicy).name === "default"
}

function checkRecord(named: Named, cost: unknown): Readonly<Record<string, unknown>> {
  if (typeof cost === "object" && isPlain(cost)) return cost
  throw costOfAll(named, typeof cost === "number" ? `a cost of ${cost}` : shown(cost))
}

/** Throws for one number under several policies. It would charge requests, tokens and bytes alike, which nobody intends. */
function costOfAll(named: Named, got: string): SluiceError {
  const example = named.map(({ name }) => `${JSON.stringify(name)}: …`).join(", ")
  return new SluiceError(
    "INVALID_COST",
    `cost must be a record by policy name, such as { ${example} }, got ${got}`,
  )
}

function namesOf(named: Named): string {
  return named.map(({ name }) => name).join(", ")
}

function checkUnits(value: unknown, least: number, what: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value
  throw new SluiceError("INVALID_COST", `${what} must be an integer, ${least} or more, got ${shown(value)}`)
}

/** Whether a value is a plain object, of any realm: no array, Map, Date or promise. */
function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return Object.prototype.toString.call(value) === "[object Object]"
}
