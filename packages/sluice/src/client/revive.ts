// JSON has neither infinity nor dates. These functions bring them back.

import type { Decision, PolicyDecision } from "../decision.js"
import { SluiceError } from "../errors.js"
import type { Inspection } from "../inspect.js"

export function isDecision(value: unknown): value is Decision {
  return typeof (value as Partial<Decision> | null | undefined)?.allowed === "boolean"
}

/** Checks that an answer is a decision, and turns null back into `Infinity`. */
export function reviveDecision(value: unknown): Decision {
  if (!isDecision(value)) {
    throw new SluiceError("STORE_UNKNOWN", "the answer is no decision; is the URL that of a Sluice server?")
  }
  const { policies } = value
  return { ...reviveTimes(value), ...(policies !== undefined && { policies: policies.map(reviveTimes) }) }
}

export function reviveInspection(value: Inspection): Inspection {
  const { policies, rule } = value
  return {
    ...value,
    policies: policies.map(reviveTimes),
    ...(rule !== undefined && { rule: reviveDates(rule as object) }),
  }
}

/** Turns the text of `until` and `at` back into dates. */
export function reviveDates<T extends object>(value: T): T {
  const dates = Object.entries(value).filter(([name]) => name === "until" || name === "at")
  return { ...value, ...Object.fromEntries(dates.map(([name, text]) => [name, new Date(text as string)])) }
}

function reviveTimes<T extends Pick<PolicyDecision, "retryAfter" | "resetAfter">>(value: T): T {
  const { retryAfter, resetAfter } = value
  return {
    ...value,
    retryAfter: retryAfter ?? Number.POSITIVE_INFINITY,
    resetAfter: resetAfter ?? Number.POSITIVE_INFINITY,
  }
}
