import { type ErrorCode, SluiceError, shown } from "./errors.js"

type Unit = "ms" | "s" | "m" | "h" | "d"

/** A length of time: whole milliseconds, or a whole number with its unit, such as `"10s"` or `"10 s"`. */
export type Duration = number | `${number}${Unit}` | `${number} ${Unit}`

const millisecondsIn = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Ten years, the longest duration that this library counts. */
export const LONGEST_MS = 3_653 * millisecondsIn.d

/** Reads a duration as whole milliseconds from 1 to ten years, or throws `code`. */
export function milliseconds(value: unknown, name: string, code: ErrorCode = "INVALID_POLICY"): number {
  const ms = typeof value === "string" ? parse(value) : value
  if (typeof ms !== "number" || !Number.isInteger(ms) || ms < 1 || ms > LONGEST_MS) {
    throw new SluiceError(
      code,
      `${name} must be whole milliseconds or a string like "10s", from 1 ms to ten years, got ${shown(value)}`,
    )
  }
  return ms
}

/** Reads an option that may be up to a minute long. */
export function upToAMinute(value: unknown, name: string): number {
  const ms = milliseconds(value, name, "INVALID_OPTION")
  if (ms <= millisecondsIn.m) return ms
  throw new SluiceError("INVALID_OPTION", `${name} must be at most a minute, got ${shown(value)}`)
}

function parse(text: string): number {
  const match = /^(\d{1,15}) ?(ms|s|m|h|d)$/.exec(text)
  return match ? Number(match[1]) * millisecondsIn[match[2] as keyof typeof millisecondsIn] : Number.NaN
}
