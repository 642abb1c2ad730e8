import { milliseconds } from "./duration.js"
import { checkFields, SluiceError, shown } from "./errors.js"
import { shared } from "./shared.js"

/** The most units that a policy counts: 10¹². */
export const MOST_UNITS = 1e12

/**
 * What an option of a policy may be. `"units"` and `"duration"` are required. One of some strings is the first by default.
 */
export type Field =
  | "units"
  | "duration"
  | readonly string[]
  | { readonly most: number; readonly default: number }

/** The options of a policy by name. The server's schema is made from them. */
export type Fields = Readonly<Record<string, Field>>

const made = shared("checked-policies", () => new WeakSet<object>())

/** Makes a policy from options, and checks each. Other options are refused. */
export function makePolicy<P extends { readonly algorithm: string }>(
  algorithm: P["algorithm"],
  options: object,
  fields: Fields,
): P {
  checkFields("INVALID_POLICY", algorithm, options, Object.keys(fields))
  const policy: Record<string, unknown> = { algorithm }
  for (const [name, field] of Object.entries(fields)) {
    policy[name] = checked((options as Record<string, unknown>)[name], name, field)
  }
  made.add(policy)
  return Object.freeze(policy) as unknown as P
}

/** Whether a policy was made by `makePolicy`. */
export function isMade(policy: object): boolean {
  return made.has(policy)
}

/** Checks an option and returns its value in the policy, which is the default if it is left out. */
function checked(value: unknown, name: string, field: Field): unknown {
  if (field === "duration") return milliseconds(value, name)
  if (field === "units") return integer(value, name, MOST_UNITS, MOST_UNITS.toExponential())
  if ("most" in field) return integer(value === undefined ? field.default : value, name, field.most)
  if (value === undefined) return field[0]
  if (field.includes(value as string)) return value
  throw invalidPolicy(`${name} must be one of ${field.map(shown).join(", ")}, got ${shown(value)}`)
}

function integer(value: unknown, name: string, most: number, shownMost = `${most}`): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most) return value
  throw invalidPolicy(`${name} must be an integer from 1 to ${shownMost}, got ${shown(value)}`)
}

export function invalidPolicy(message: string): SluiceError {
  return new SluiceError("INVALID_POLICY", message)
}
