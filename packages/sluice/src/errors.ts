import type { Decision } from "./decision.js"

/** The closed set of codes a {@link SluiceError} carries; `docs/errors.md` has a heading for each. */
export type ErrorCode =
  | "INVALID_POLICY"
  | "INVALID_OPTION"
  | "INVALID_KEY"
  | "INVALID_COST"
  | "NAME_TAKEN"
  | "NOT_INITIALIZED"
  | "CLOSED"
  | "QUEUE_FULL"
  | "WAIT_TOO_LONG"
  | "STORE_REFUSED"
  | "STORE_UNKNOWN"

/** The one error this library throws: switch on `code`, read `cause` for what lies beneath. */
export class SluiceError extends Error {
  override readonly name = "SluiceError"
  readonly code: ErrorCode
  /** The denial that it is about, if it is about one. */
  readonly decision?: Decision

  constructor(
    code: ErrorCode,
    message: string,
    options?: ErrorOptions & { decision?: Decision | undefined },
  ) {
    super(message, options)
    this.code = code
    if (options?.decision !== undefined) this.decision = options.decision
  }
}

/** Shows a wrong value in an error message: short, and telling `"1"` from `1`. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === "bigint") return `${value}n`
  if (value instanceof Promise) return "a promise"
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "an array" : "an object"
  if (typeof value === "function") return "a function"
  return String(value)
}

/** Refuses options that are no object, or that have a field nobody reads: a misspelt one is never ignored. */
export function checkFields(code: ErrorCode, what: string, value: unknown, known: readonly string[]): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SluiceError(code, `${what} must be an object, got ${shown(value)}`)
  }
  for (const field of Object.keys(value)) {
    if (!known.includes(field)) {
      throw new SluiceError(code, `${what} has no field ${shown(field)}; it takes ${known.join(", ")}`)
    }
  }
}
