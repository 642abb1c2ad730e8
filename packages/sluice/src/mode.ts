// Observe mode: decide and count as usual, but let every request pass.

import type { Decision } from "./decision.js"
import { SluiceError, shown } from "./errors.js"

/**
 * `"enforce"`, the default, denies what is over the limit. `"observe"` decides and counts, and lets everything pass.
 * `{ enforce: 0.1 }` enforces for a tenth of the keys, the same in every process, and observes the others.
 */
export type LimiterMode = "enforce" | "observe" | { readonly enforce: number }

/** The share of keys that a mode enforces for. */
export function enforcedShare(mode: unknown): number {
  if (mode === "enforce") return 1
  if (mode === "observe") return 0
  const share = (mode as { enforce?: unknown } | null)?.enforce
  if (typeof share === "number" && share >= 0 && share <= 1) return share
  throw new SluiceError(
    "INVALID_OPTION",
    `mode must be "enforce", "observe" or { enforce: 0 to 1 }, got ${shown(mode)}`,
  )
}

/**
 * Where a key of a limiter stands between 0 and 1, in every process: FNV-1a, mixed by the finaliser of MurmurHash3. A
 * larger share contains a smaller one.
 */
export function rankOf(limiter: string, key: string): number {
  const text = `${limiter}\n${key}`
  let hash = 2_166_136_261
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 16_777_619)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

/** A decision as a limiter that observes hands it on. In an outage nobody knows whether it would have been denied. */
export function letPass<Name extends string>(decision: Decision<Name>): Decision<Name> {
  if (decision.allowed) return decision
  const passed = { ...decision, allowed: true, retryAfter: 0 }
  return decision.degraded ? passed : { ...passed, observed: "denied" }
}

/** The reply of a store that failed, while the limiter observes. */
export const unheard = { granted: 1, levels: [], at: 0, source: "fallback" } as const
