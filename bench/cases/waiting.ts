import { leakyBucket, type Policy, tokenBucket } from "sluice"
import type { Bench, Case } from "../case.js"
import { crowd, type Sighting } from "../crowd.js"
import { type Figures, interleave, type Pace, type Row } from "../rounds.js"
import { plenty, type WaitingSubject } from "../subject.js"
import { bottleneck } from "../subjects/bottleneck.js"
import { throttle } from "../subjects/p-throttle.js"
import { waitingSluice } from "../subjects/sluice.js"

const callers = 1_000
const perSecond = 200
const gapMs = 1_000 / perSecond
/** The window that grants are counted in: a short one, since a round is short. */
const windowMs = 250

/** A rate, in everybody's words. */
interface Rate {
  readonly bucket: Policy
  readonly leaky: Policy
  readonly minTime: number
  readonly throttle: readonly [limit: number, interval: number]
}

/** So high that nobody waits for anything but the limiter itself. */
const unthrottled: Rate = {
  bucket: tokenBucket({ capacity: plenty, refill: plenty, every: "1s" }),
  leaky: leakyBucket({ capacity: plenty, leak: plenty, every: "1s" }),
  minTime: 0,
  throttle: [plenty, 1_000],
}

/** One after the other at even distances. A leaky bucket holds those who wait in it. */
const even: Rate = {
  bucket: tokenBucket({ capacity: 1, refill: perSecond, every: "1s" }),
  leaky: leakyBucket({ capacity: 2 * callers, leak: perSecond, every: "1s" }),
  minTime: gapMs,
  throttle: [1, gapMs],
}

/** Each round has a limiter of its own: those who still wait at its end need not be waited for. */
interface Candidate {
  readonly name: string
  readonly onRedis: boolean
  start(): Promise<WaitingSubject>
}

const candidates = ({ redis }: Bench, { bucket, leaky, minTime, throttle: terms }: Rate): Candidate[] => [
  { name: "sluice tokenBucket", onRedis: true, start: () => waitingSluice(bucket, redis) },
  { name: "sluice leakyBucket", onRedis: true, start: () => waitingSluice(leaky, redis) },
  { name: "bottleneck", onRedis: true, start: () => bottleneck(redis, minTime) },
  { name: "sluice tokenBucket, memory", onRedis: false, start: () => waitingSluice(bucket) },
  { name: "p-throttle, memory", onRedis: false, start: () => throttle(...terms) },
]

export const waiting: Case = {
  id: "waiting",
  section: "waiting",
  seconds: 130,
  title: "callers who wait for their turn",
  async run(bench) {
    const { quick } = bench.pace
    const fast: Pace = quick ? { quick, rounds: 2, ms: 150, warmUpMs: 150 } : bench.pace
    // turns lie five seconds ahead: a long round sees those the crowd booked, then those booked one by one
    const slow: Pace = quick
      ? { quick, rounds: 2, ms: 350, warmUpMs: 0 }
      : { quick, rounds: 3, ms: 6_000, warmUpMs: 0 }
    const speed = await watch(bench, unthrottled, fast, false, speedOf)
    const fidelity = await watch(bench, even, slow, true, fidelityOf)
    await bench.redis.flush()
    const many = callers.toLocaleString("en")
    return [
      { id: "waiting-unthrottled", title: `${many} wait on one key, no rate to speak of`, rows: speed },
      { id: `waiting-${perSecond}`, title: `${many} wait on one key, ${perSecond} a second`, rows: fidelity },
    ]
  },
}

function watch(
  bench: Bench,
  rate: Rate,
  pace: Pace,
  inLineFirst: boolean,
  figuresOf: (seen: Sighting, onRedis: boolean) => Figures,
): Promise<Row[]> {
  const run = async ({ start, onRedis }: Candidate, ms: number) => {
    // what has been warmed up without a rate is warm
    if (ms === 0) return {}
    return figuresOf(await crowd(await start(), bench.redis, { callers, ms, inLineFirst }), onRedis)
  }
  return interleave(candidates(bench, rate), run, pace, bench.progress)
}

function speedOf({ grants, from, to, nodeCpu, redisCpu, scripts }: Sighting, onRedis: boolean): Figures {
  const count = grants.length
  const grantRate = count / ((to - from) / 1_000)
  const own = { grantRate, nodeCpu: nodeCpu / count }
  return onRedis ? { ...own, redisCpu: redisCpu / count, scriptsPerGrant: scripts / count } : own
}

function fidelityOf({ grants, from, to, scripts, commands }: Sighting, onRedis: boolean): Figures {
  const count = grants.length
  const own = {
    rateUsed: count / ((perSecond * (to - from)) / 1_000),
    longestGap: longestGap([from, ...grants, to]) / gapMs,
    ofLimit: mostInWindow(grants) / ((perSecond * windowMs) / 1_000),
  }
  return onRedis ? { ...own, scriptsPerGrant: scripts / count, commandsPerGrant: commands / count } : own
}

function longestGap(moments: readonly number[]): number {
  return moments.reduce((longest, at, i) => Math.max(longest, at - (moments[i - 1] ?? at)), 0)
}

/** As many as callers saw in any window, whether the limiter or a late timer brought them together. */
function mostInWindow(grants: readonly number[]): number {
  let [first, most] = [0, 0]
  for (const [last, at] of grants.entries()) {
    while (at - (grants[first] as number) >= windowMs) first += 1
    most = Math.max(most, last - first + 1)
  }
  return most
}
