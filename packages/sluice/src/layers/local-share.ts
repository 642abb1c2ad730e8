import { LONGEST_MS } from "../duration.js"
import { checkPolicy, type Policy } from "../policy.js"

/** A policy that admits this share of another one, but at least one unit at once. */
export function localShare(policy: Policy, share: number): Policy {
  const least = (amount: number) => Math.max(Math.floor(amount * share), 1)
  if ("limit" in policy) return checkPolicy({ ...policy, limit: least(policy.limit) })
  const { capacity, every } = policy
  const amount = policy.algorithm === "tokenBucket" ? policy.refill : policy.leak
  // If the share is less than one unit per interval, one unit comes after a longer interval.
  const flow =
    amount * share >= 1
      ? { amount: least(amount), every }
      : { amount: 1, every: Math.min(Math.ceil(every / (amount * share)), LONGEST_MS) }
  // Rounding the refill down makes the bucket slower to fill. Reduce its capacity to stay within the longest allowed time.
  const most = Math.floor((LONGEST_MS * flow.amount * 0.99) / flow.every)
  const rest = { capacity: Math.max(Math.min(least(capacity), most), 1), every: flow.every }
  return policy.algorithm === "tokenBucket"
    ? checkPolicy({ ...policy, ...rest, refill: flow.amount })
    : checkPolicy({ ...policy, ...rest, leak: flow.amount })
}
