import { readFileSync } from "node:fs"
import * as library from "sluice"
import { type Policies, type Policy, SluiceError } from "sluice"
import { type Cursor, shown } from "./cursor.js"

type Factory = (options: object) => Policy

/** The names of all policies. The schema has them from the library's registry. */
const algorithms: readonly Policy["algorithm"][] = JSON.parse(
  readFileSync(new URL("../../schema.json", import.meta.url), "utf8"),
).$defs.policy.oneOf.map(
  (policy: { properties: { algorithm: { const: string } } }) => policy.properties.algorithm.const,
)

const exported = new Map<string, unknown>(Object.entries(library))

/** The functions that make policies, by name. */
export const factories = Object.fromEntries(algorithms.map((name) => [name, exported.get(name)])) as Readonly<
  Record<Policy["algorithm"], Factory>
>

/** Reads one policy (`algorithm: tokenBucket`, and its options) or several by name. */
export function readPolicies(cursor: Cursor): Policies | undefined {
  const map = cursor.map()
  if (map === undefined) return undefined
  if (typeof map.at("algorithm").value === "string") return readPolicy(map)
  const entries = map.entries()
  if (entries.length === 0) return map.fail("a policy needs an algorithm, or names with a policy each")
  const [[first, value]] = entries as [[string, Cursor]]
  if (typeof value.value !== "object") {
    const hint = `${map.label} needs an algorithm: one of ${algorithms.join(", ")}`
    return map.failAt(first, hint)
  }
  const read = entries.map(([name, policy]) => [name, readPolicy(policy)] as const)
  if (read.some(([, policy]) => policy === undefined)) return undefined
  return Object.fromEntries(read) as Record<string, Policy>
}

function readPolicy(cursor: Cursor): Policy | undefined {
  const map = cursor.map()
  if (map === undefined) return undefined
  const algorithm = map.at("algorithm")
  if (!algorithm.exists) return map.fail(`${map.label} needs an algorithm: one of ${algorithms.join(", ")}`)
  const chosen = algorithm.choice(algorithms)
  if (chosen === undefined) return undefined
  const { algorithm: _, ...options } = map.value as Record<string, unknown>
  return checked(map, () => factories[chosen](options))
}

/** Runs a check of the library. Its message names the option at fault, which is where the problem is noted. */
export function checked<T>(map: Cursor, check: () => T): T | undefined {
  try {
    return check()
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    const [, unknown, option] = /has no field "([^"]+)"|^(?:[a-z]+\.)*(\w+) must/i.exec(error.message) ?? []
    if (unknown !== undefined) return map.failAt(unknown, error.message)
    if (option !== undefined && map.at(option).exists) return map.at(option).fail(error.message)
    if (option !== undefined) return map.fail(`${map.label} needs ${option}`)
    return map.fail(error.message)
  }
}

/** Reads a duration such as `10s`, or milliseconds. */
export function readDuration(cursor: Cursor): number | undefined {
  const { value } = cursor
  const match = typeof value === "string" ? /^(\d{1,15}) ?(ms|s|m|h|d)$/.exec(value) : undefined
  const unit = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
  const ms = match ? Number(match[1]) * unit[match[2] as keyof typeof unit] : value
  if (typeof ms === "number" && Number.isInteger(ms) && ms >= 1 && ms <= 3_653 * unit.d) return ms
  return cursor.fail(
    `${cursor.label} must be a duration such as 250ms, 10s, 5m, 1h or 1d, got ${shown(value)}`,
  )
}
