import { SluiceError, shown } from "./errors.js"
import { checkPolicy, looksLikePolicy, type Policy } from "./policy.js"
import type { Scope } from "./state-key.js"
import type { Part } from "./store.js"

/** One policy, which is then called `default`, or several by name, charged all or nothing. */
export type Policies = Policy | Readonly<Record<string, Policy>>

/** The names of the policies in `P`. */
export type NameOf<P extends Policies> = P extends Policy ? "default" : keyof P & string

/** What an ask costs: the same under every policy, or by name; a name left out costs 1, a 0 skips it. */
export type Cost<P extends Policies> = number | { readonly [Name in NameOf<P>]?: number }

/** A policy with its name and its place on a store. */
export interface NamedPolicy {
  readonly name: string
  readonly policy: Policy
  readonly scope: Scope
}

export type Named = readonly NamedPolicy[]

/** What an ask costs under one policy. */
export interface Charge<Name extends string = string> extends Part {
  readonly name: Name
}

const MOST_POLICIES = 64

/** Validates policies as a user gave them. */
export function namePolicies(value: unknown, scopeOf: (name: string) => Scope): Named {
  if (looksLikePolicy(value))
    return [{ name: "default", policy: checkPolicy(value), scope: scopeOf("default") }]
  if (!isPlain(value)) {
    throw new SluiceError(
      "INVALID_POLICY",
      `policy must be a policy or a record of policies, got ${shown(value)}`,
    )
  }
  const entries = Object.entries(value)
  if (entries.length === 0) throw new SluiceError("INVALID_POLICY", "a record of policies needs at least one")
  if (entries.length > MOST_POLICIES) {
    throw new SluiceError(
      "INVALID_POLICY",
      `a record has at most ${MOST_POLICIES} policies, got ${entries.length}`,
    )
  }
  return entries.map(([name, policy]) => {
    if (name === "") throw new SluiceError("INVALID_POLICY", "a policy needs a name")
    return { name, policy: checkPolicy(policy), scope: scopeOf(name) }
  })
}

/** The policies that a cost charges, with what it charges them for a key; those it skips are left out. */
export function charges<Name extends string>(named: Named, key: string, cost: unknown): Charge<Name>[] {
  if (typeof cost !== "object" || !isPlain(cost)) {
    const units = checkUnits(cost, 1, "cost")
    const charge = ({ name, policy, scope }: NamedPolicy) =>
      ({ scope, key, policy, cost: units, name }) as Charge<Name>
    return named.length === 1 ? [charge(named[0] as NamedPolicy)] : named.map(charge)
  }
  const charged = allCharges<Name>(named, key, cost).filter((charge) => charge.cost > 0)
  if (charged.length === 0)
    throw new SluiceError("INVALID_COST", "cost is 0 for every policy: nothing to ask")
  return charged
}

/** Every policy with what a cost of 0 or more charges it for a key. */
export function allCharges<Name extends string>(named: Named, key: string, cost: unknown): Charge<Name>[] {
  if (typeof cost !== "object" || !isPlain(cost)) {
    const units = checkUnits(cost, 0, "cost")
    return named.map(({ name, policy, scope }) => ({ scope, key, policy, cost: units, name: name as Name }))
  }
  for (const name of Object.keys(cost)) {
    if (!named.some((known) => known.name === name)) {
      const names = named.map((known) => known.name).join(", ")
      throw new SluiceError("INVALID_COST", `cost names ${shown(name)}, but the policies are ${names}`)
    }
  }
  const byName = new Map(Object.entries(cost))
  return named.map(({ name, policy, scope }) => ({
    scope,
    key,
    policy,
    cost: checkUnits(byName.has(name) ? byName.get(name) : 1, 0, `cost of ${name}`),
    name: name as Name,
  }))
}

function checkUnits(value: unknown, least: number, what: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value
  throw new SluiceError("INVALID_COST", `${what} must be an integer, ${least} or more, got ${shown(value)}`)
}

/** Whether a value is an object of names, from whatever realm: no array, Map, Date or promise. */
function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return Object.prototype.toString.call(value) === "[object Object]"
}
