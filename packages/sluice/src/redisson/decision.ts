import type { Grants } from "./calls.js"

/** The result of a request for permits. */
export interface PermitDecision {
  readonly allowed: boolean
  /** The rate: the most permits in any interval. */
  readonly limit: number
  /** Permits left. */
  readonly remaining: number
  /** Milliseconds until the same request can pass. 0 if it passed. */
  readonly retryAfter: number
}

export function passed({ rate }: Grants, left: number): PermitDecision {
  return { allowed: true, limit: rate, remaining: left, retryAfter: 0 }
}

export function denied({ rate, free }: Grants, retryAfter: number): PermitDecision {
  return { allowed: false, limit: rate, remaining: Math.max(free, 0), retryAfter: Math.ceil(retryAfter) }
}
