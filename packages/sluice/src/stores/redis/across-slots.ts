import type { Level } from "../../algorithm.js"
import type { Answer, Ask, Part } from "../../store.js"
import { tagOf } from "./slot-tag.js"

/** Parts of one ask that share a slot, and where they stand in it. */
interface Share {
  readonly parts: readonly Part[]
  readonly places: readonly number[]
}

/** The parts of an ask by the slots they are in; one share if all of them share one. */
export function sharesOf(parts: readonly Part[]): Share[] {
  const byTag = new Map<string, { parts: Part[]; places: number[] }>()
  for (const [place, part] of parts.entries()) {
    const tag = tagOf(part)
    const share = byTag.get(tag) ?? { parts: [], places: [] }
    byTag.set(tag, share)
    share.parts.push(part)
    share.places.push(place)
  }
  return [...byTag.values()]
}

/**
 * Asks for parts that share no slot, which no one step can decide: looks at all of them, then spends in each, and gives
 * back what was spent if somebody else came in between. Until then it counts, and others may be denied for it.
 */
export async function askAcrossSlots(
  shares: readonly Share[],
  { count, mode }: Ask,
  ask: (ask: Pick<Ask, "parts" | "count" | "mode">) => PromiseLike<Answer>,
  giveBack: (parts: readonly Part[], at: number) => Promise<void>,
): Promise<Answer> {
  const all = (mode: "spend" | "peek", count: number) =>
    Promise.allSettled(shares.map(({ parts }) => ask({ parts, count, mode })))
  const seen = answersOf(await all("peek", count))
  const room = Math.min(...seen.map(({ granted }) => granted))
  if (mode === "peek" || room === 0) return joined(shares, seen, room)
  const spent = await all("spend", room)
  const granted = Math.min(...spent.map((each) => (each.status === "fulfilled" ? each.value.granted : 0)))
  await Promise.allSettled(
    spent.flatMap((each, i) => {
      const over = each.status === "fulfilled" ? each.value.granted - granted : 0
      if (each.status === "rejected" || over === 0) return []
      const { parts } = shares[i] as Share
      return giveBack(
        parts.map((part) => ({ ...part, cost: part.cost * over })),
        each.value.at,
      )
    }),
  )
  const answers = answersOf(spent)
  return granted > 0
    ? joined(shares, answers, granted)
    : joined(shares, answersOf(await all("peek", count)), 0)
}

/** The answers, or the first error there is. */
function answersOf(settled: readonly PromiseSettledResult<Answer>[]): Answer[] {
  return settled.map((each) => {
    if (each.status === "rejected") throw each.reason
    return each.value
  })
}

function joined(shares: readonly Share[], answers: readonly Answer[], granted: number): Answer {
  const levels: Level[] = []
  for (const [i, { places }] of shares.entries()) {
    for (const [j, place] of places.entries()) levels[place] = (answers[i] as Answer).levels[j] as Level
  }
  return { granted, levels, at: Math.max(...answers.map(({ at }) => at)) }
}
