import type { Decision } from "./decision.js"
import { sharedSymbol } from "./shared.js"

const BRAND = sharedSymbol("error")

/** All codes of a {@link SluiceError}. `docs/errors.md` has a section for each. */
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
  | "BLOCKED"
  | "STORE_REFUSED"
  | "STORE_UNKNOWN"

/** The only error class of this library. Switch on `code`, and read `cause` for the underlying error. */
export class SluiceError extends Error {
  override readonly name = "SluiceError"
  readonly code: ErrorCode
  /** The denial, if the error is about one. `declare`, because a field would print as `undefined` in every other error. */
  declare readonly decision?: Decision

  static {
    // An error of the other copy of the package, ES modules or CommonJS, is a SluiceError too.
    const isOne = Function.prototype[Symbol.hasInstance]
    Object.defineProperty(SluiceError.prototype, BRAND, { value: true })
    Object.defineProperty(SluiceError, Symbol.hasInstance, {
      value(this: unknown, value: object | null | undefined) {
        if (this !== SluiceError) return isOne.call(this as typeof SluiceError, value)
        return typeof value === "object" && value !== null && BRAND in value
      },
    })
  }

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

/** Formats a wrong value for an error message. It is short, and distinguishes `"1"` from `1`. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === "bigint") return `${value}n`
  if (value instanceof Promise) return "a promise"
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "an array" : "an object"
  if (typeof value === "function") return "a function"
  return String(value)
}

/** Throws if options are not an object or have an unknown field, so that a misspelt option is never ignored. */
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

/** Returns a share of something: a number above 0 and at most 1. */
export function checkShare(value: unknown, what: string): number {
  if (typeof value === "number" && value > 0 && value <= 1) return value
  throw new SluiceError("INVALID_OPTION", `${what} must be above 0 and at most 1, got ${shown(value)}`)
}
