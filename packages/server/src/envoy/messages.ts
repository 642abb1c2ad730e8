import type { EnvoyUnit } from "../config/config.js"

/** A request of Envoy's rate limit protocol. The field names are those of its JSON form. */
export interface RateLimitRequest {
  readonly domain: string
  readonly descriptors: readonly RateLimitDescriptor[]
  /** Hits of each descriptor that has none of its own. 0 means 1. */
  readonly hitsAddend: number
}

export interface RateLimitDescriptor {
  readonly entries: readonly Entry[]
  /** A limit that takes the place of the configured one. */
  readonly limit?: LimitOverride | null | undefined
  /** 0 reads the counter and does not change it. */
  readonly hitsAddend?: { readonly value: number } | null | undefined
  /** Gives the hits back. */
  readonly isNegativeHits: boolean
}

export interface Entry {
  readonly key: string
  readonly value: string
}

export interface LimitOverride {
  readonly requestsPerUnit: number
  /** The name of a unit, or its number if this version of the protocol does not name it. */
  readonly unit: string | number
}

export type Code = "OK" | "OVER_LIMIT"

export interface RateLimitResponse {
  readonly overallCode: Code
  /** One for each descriptor of the request, in the same order. */
  readonly statuses: readonly DescriptorStatus[]
  readonly responseHeadersToAdd: readonly Header[]
}

export interface Header {
  readonly key: string
  readonly value: string
}

/** Without `currentLimit`, no limit applies to the descriptor. */
export interface DescriptorStatus {
  readonly code: Code
  readonly currentLimit?: {
    readonly requestsPerUnit: number
    readonly unit: Uppercase<EnvoyUnit> | "UNKNOWN"
    readonly name?: string
  }
  readonly limitRemaining?: number
  readonly durationUntilReset?: { readonly seconds: number }
}

/** A request that breaks the protocol's rules. Nothing was charged. */
export class InvalidRequest extends Error {
  override readonly name = "InvalidRequest"
}

const MOST_DESCRIPTORS = 64
const MOST_ENTRIES = 32

/** Throws an {@link InvalidRequest} if a request breaks the rules that need no configuration. */
export function checkRequest({ domain, descriptors }: RateLimitRequest): void {
  if (domain === "") throw new InvalidRequest("the domain must not be empty")
  if (descriptors.length === 0) throw new InvalidRequest("a request needs at least one descriptor")
  if (descriptors.length > MOST_DESCRIPTORS) {
    throw new InvalidRequest(
      `a request has at most ${MOST_DESCRIPTORS} descriptors, got ${descriptors.length}`,
    )
  }
  for (const { entries } of descriptors) {
    if (entries.length <= MOST_ENTRIES) continue
    throw new InvalidRequest(`a descriptor has at most ${MOST_ENTRIES} entries, got ${entries.length}`)
  }
}

/** The hits of a descriptor: negative if they are given back, 0 if the counter is only read. */
export function hitsOf(
  request: RateLimitRequest,
  { hitsAddend, isNegativeHits }: RateLimitDescriptor,
): number {
  const own = hitsAddend == null ? Math.max(1, request.hitsAddend) : hitsAddend.value
  const hits = Math.min(own, Number.MAX_SAFE_INTEGER)
  return isNegativeHits && hits > 0 ? -hits : hits
}
