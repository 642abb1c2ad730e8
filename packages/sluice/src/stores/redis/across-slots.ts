import type { Level } from "../../algorithm.js"
import type { PolicyRequest, StoreReply, StoreRequest } from "../../store.js"
import { tagOf } from "./keys.js"

/** Policies of one request that share a slot, and their indices in it. */
interface Share {
  readonly policies: readonly PolicyRequest[]
  readonly indices: readonly number[]
}

/** Groups the policies of a request by slot. */
export function sharesOf(policies: readonly PolicyRequest[]): Share[] {
  const byTag = new Map<string, { policies: PolicyRequest[]; indices: number[] }>()
  for (const [index, policy] of policies.entries()) {
    const tag = tagOf(policy)
    const share = byTag.get(tag) ?? { policies: [], indices: [] }
    byTag.set(tag, share)
    share.policies.push(policy)
    share.indices.push(index)
  }
  return [...byTag.values()]
}

/**
 * Decides a request whose policies are in different slots, which no single step can do. It peeks at all of them, then spends in
 * each. If another request came in between, it gives back what it spent. Until then others may be denied.
 */
export async function decideAcrossSlots(
  shares: readonly Share[],
  { count, mode }: StoreRequest,
  request: (part: Pick<StoreRequest, "policies" | "count" | "mode">) => PromiseLike<StoreReply>,
  giveBack: (policies: readonly PolicyRequest[], at: number) => Promise<void>,
): Promise<StoreReply> {
  const all = (mode: "spend" | "peek", count: number) =>
    Promise.allSettled(shares.map(({ policies }) => request({ policies, count, mode })))
  const seen = answersOf(await all("peek", count))
  const room = Math.min(...seen.map(({ granted }) => granted))
  if (mode === "peek" || room === 0) return joined(shares, seen, room)
  const spent = await all("spend", room)
  const granted = Math.min(...spent.map((each) => (each.status === "fulfilled" ? each.value.granted : 0)))
  await Promise.allSettled(
    spent.flatMap((each, i) => {
      const over = each.status === "fulfilled" ? each.value.granted - granted : 0
      if (each.status === "rejected" || over === 0) return []
      const { policies } = shares[i] as Share
      return giveBack(
        policies.map((policy) => ({ ...policy, cost: policy.cost * over })),
        each.value.at,
      )
    }),
  )
  const replies = answersOf(spent)
  return granted > 0
    ? joined(shares, replies, granted)
    : { ...joined(shares, answersOf(await all("peek", count)), 0), gaveBack: true }
}

/** The answers, or the first error there is. */
function answersOf(settled: readonly PromiseSettledResult<StoreReply>[]): StoreReply[] {
  return settled.map((each) => {
    if (each.status === "rejected") throw each.reason
    return each.value
  })
}

function joined(shares: readonly Share[], replies: readonly StoreReply[], granted: number): StoreReply {
  const levels: Level[] = []
  for (const [i, { indices }] of shares.entries()) {
    for (const [j, index] of indices.entries()) levels[index] = (replies[i] as StoreReply).levels[j] as Level
  }
  return { granted, levels, at: Math.max(...replies.map(({ at }) => at)) }
}
