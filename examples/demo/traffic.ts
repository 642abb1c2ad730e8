// The traffic and the policies of the demo. The terminal draws them live, scripts/pictures draws them as an SVG.
import { fixedWindow, leakyBucket, type Policy, slidingLog, slidingWindow, tokenBucket } from "sluice"

/** Milliseconds. Seven and a half ticks are a window, so that no request is sent just as a window ends. */
export const tick = 267

/** Requests in each tick: a burst on both sides of a window's end, silence, then steadily twice the limit. */
export const traffic = [..."01010044", ..."44220000", ..."00000000", ..."22222222", ..."22222000"].map(Number)

/** Each policy allows eight requests in two seconds, in its own way. */
export const [limit, window] = [8, 2_000]

export interface Lane {
  readonly name: string
  readonly shows: string
  readonly policy: Policy
}

const bucket = { capacity: limit, refill: 4, every: "1s" } as const

export const lanes: readonly Lane[] = [
  {
    name: "fixedWindow",
    shows: "up to twice the limit at an edge",
    policy: fixedWindow({ limit, window }),
  },
  {
    name: "  by the clock",
    shows: "the same, at edges all keys share",
    policy: fixedWindow({ limit, window, align: "clock" }),
  },
  {
    name: "slidingLog",
    shows: "the limit in any 2 s, exactly",
    policy: slidingLog({ limit, window }),
  },
  {
    name: "slidingWindow",
    shows: "as strict, in less memory",
    policy: slidingWindow({ limit, window, buckets: 4 }),
  },
  {
    name: "tokenBucket",
    shows: "a burst, then an even trickle",
    policy: tokenBucket(bucket),
  },
  {
    name: "  in steps",
    shows: "a burst, then four at a time",
    policy: tokenBucket({ ...bucket, mode: "interval" }),
  },
  {
    name: "leakyBucket",
    shows: "a token bucket upside down",
    policy: leakyBucket({ capacity: limit, leak: 4, every: "1s" }),
  },
]

/** The most of these moments that lie in any span of `ms`. */
export function mostIn(ms: number, moments: readonly number[]): number {
  const counts = moments.map((from) => moments.filter((at) => at >= from && at < from + ms).length)
  return Math.max(0, ...counts)
}
