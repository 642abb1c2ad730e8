import type { Numbers, Spent } from "../../algorithm.js"
import { wholeMilliseconds } from "../../clock.js"
import { FORM, FULL, PART, REACH } from "./bucket-state.js"
import type { BucketTerms } from "./bucket-terms.js"

/** Spends from a bucket without steps or a line that has room: `take` in few words, as in `bucket-plain.lua`. */
export function spendPlain(
  { parts, step, costPieces, spanPieces, reach, capacity, unit }: BucketTerms,
  { near }: Numbers,
  cell: number,
  now: number,
): Spent | undefined {
  const full = near[cell + FULL] as number
  const form = near[cell + FORM] as number
  const ahead = full >= now ? (full - now) * parts + (near[cell + PART] as number) + costPieces : costPieces
  // with room left it lies no further ahead than its capacity: no clock has jumped
  if (step > 0 || !(ahead <= spanPieces) || (form !== parts && form !== 0)) return undefined
  const part = parts === 1 ? 0 : ahead % parts
  const whole = (ahead - part) / parts
  near[cell + FULL] = now + whole
  near[cell + PART] = part
  near[cell + FORM] = parts
  near[cell + REACH] = reach
  return {
    expiresAt: now + whole + 1,
    limit: capacity,
    remaining: Math.floor((spanPieces - ahead) / unit),
    resetAfter: wholeMilliseconds(part > 0 ? whole + 1 : whole),
  }
}
