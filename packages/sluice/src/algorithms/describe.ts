// Puts names to the stored state of each algorithm, for operators. Only `inspect` loads this file.

import type { Policy } from "../policy.js"

/** A state by names. Times end in `At`, `From` or `Until`: milliseconds of the store's clock. Unused values are left out. */
export type StateValues = Readonly<Record<string, number>>

type Describe = (queue: readonly number[]) => StateValues

const bucket: Describe = ([full = 0, part = 0, last = 0, low = 0, anchor = -1, lapsesAt = 0]) => {
  return { fullAt: full / 1_000, part, lastTurnAt: last / 1_000, low, ...stepsOf(anchor, lapsesAt) }
}

const fixedWindow: Describe = ([start = 0, stop = 0, used = 0, booked = 0]) => {
  return { opensAt: start / 1_000, endsAt: stop / 1_000, used, lastTurnAt: (booked * start) / 1_000 }
}

const log: Describe = ([at = 0, total = 0, till = 0, lead = 0]) => {
  return { newestAt: at / 1_000, total, neededUntil: till, lastTurnAt: lead > 0 ? at / 1_000 : 0 }
}

const byAlgorithm: Record<Policy["algorithm"], Describe> = {
  fixedWindow,
  slidingLog: log,
  slidingWindow: log,
  tokenBucket: bucket,
  leakyBucket: bucket,
}

function stepsOf(anchor: number, lapsesAt: number): StateValues {
  return anchor < 0 ? {} : { stepsFrom: anchor / 1_000, stepsUntil: lapsesAt / 1_000 }
}

/** Describes the `queueState` of a policy. */
export function describeState(policy: Policy, queue: readonly number[]): StateValues {
  const values = byAlgorithm[policy.algorithm](queue)
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== 0))
}

/** The same in words: `full at 2026-05-28T20:26:41.500Z, part 3`. */
export function inWords(values: StateValues): string {
  const words = Object.entries(values).map(([name, value]) => {
    const isTime = /(At|From|Until)$/.test(name)
    const label = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    return `${label} ${isTime ? new Date(value).toISOString() : value}`
  })
  return words.join(", ") || "nothing"
}
