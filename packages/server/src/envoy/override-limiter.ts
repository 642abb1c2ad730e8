import { createLimiter, type Limiter } from "sluice"
import type { EnvoyUnit } from "../config/config.js"
import { escaped, policyOf } from "../config/read-domain.js"
import type { Engine } from "../engine.js"
import { InvalidRequest } from "./messages.js"

/** The units of limits in requests, by number. */
const units: readonly (EnvoyUnit | undefined)[] = [
  ...[undefined, "second", "minute", "hour", "day", "month", "year", "week"],
] as const

/** The unit of a limit in a request. */
export function overrideUnit(unit: string | number): EnvoyUnit {
  const found = typeof unit === "number" ? units[unit] : units.find((each) => each === unit.toLowerCase())
  if (found !== undefined) return found
  throw new InvalidRequest(`the limit of a descriptor has an unknown unit, ${JSON.stringify(unit)}`)
}

interface Entry {
  readonly outage: string
  readonly limiter: Limiter
}

const limiters = new WeakMap<Engine, Map<string, Entry>>()

/**
 * The limiter for limits that come with requests of a domain. It is no limiter of the configuration, so such a limit never
 * touches the counter of a rule. There is one per domain, made when the first such request comes.
 */
export function overrideLimiter(engine: Engine, domain: string): Limiter {
  const known = limiters.get(engine) ?? new Map<string, Entry>()
  limiters.set(engine, known)
  const { store, rules, config } = engine
  const outage = JSON.stringify(config.outage)
  const entry = known.get(domain)
  if (entry?.outage === outage) return entry.limiter
  const limiter = createLimiter({
    // No rule has this name, because none has an empty key.
    name: `${escaped(domain)}//override`,
    // Each request brings a policy of its own. The unit stands in the key, because counters of two units have nothing in common.
    policy: () => policyOf(1, "second"),
    store,
    rules,
    outage: config.outage,
  })
  known.set(domain, { outage, limiter })
  return limiter
}
