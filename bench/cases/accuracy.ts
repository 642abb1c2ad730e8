import { setTimeout as sleep } from "node:timers/promises"
import { fixedWindow, type Policies, slidingLog, slidingWindow, tokenBucket } from "sluice"
import type { Case } from "../case.js"
import type { Server } from "../redis.js"
import { type Figures, rowOf } from "../rounds.js"
import type { Subject } from "../subject.js"
import { rateLimitRedis } from "../subjects/rate-limit-redis.js"
import { flexible } from "../subjects/rate-limiter-flexible.js"
import { sluice } from "../subjects/sluice.js"
import { upstash, upstashBucket, upstashFixed, upstashSliding } from "../subjects/upstash.js"

/** Everybody is told "20 a second", in the words it has for that. */
const [limit, windowMs] = [20, 1_000]

const ours: Record<string, Policies> = {
  slidingLog: slidingLog({ limit, window: windowMs }),
  slidingWindow: slidingWindow({ limit, window: windowMs }),
  "tokenBucket, half of it burst": tokenBucket({ capacity: limit / 2, refill: limit / 2, every: windowMs }),
  tokenBucket: tokenBucket({ capacity: limit, refill: limit, every: windowMs }),
  fixedWindow: fixedWindow({ limit, window: windowMs }),
}

const subjects = (on: Server): Promise<Subject>[] => [
  ...Object.entries(ours).map(([name, policy]) => sluice(on, { name: `sluice ${name}`, policy })),
  flexible(on, { points: limit, duration: windowMs / 1_000 }),
  rateLimitRedis(on, limit, windowMs),
  upstash(on, { name: "@upstash/ratelimit slidingWindow", limiter: upstashSliding(limit, "1 s") }),
  upstash(on, { name: "@upstash/ratelimit tokenBucket", limiter: upstashBucket(limit, "1 s", limit) }),
  upstash(on, { name: "@upstash/ratelimit fixedWindow", limiter: upstashFixed(limit, "1 s") }),
]

/** How near to an edge a burst is sent. */
const nearMs = 40

interface Attack {
  /** Whether one ask comes first, to open a window. */
  readonly opens: boolean
  /** Milliseconds from the beginning, and how many asks are sent then. */
  readonly bursts: readonly (readonly [at: number, asks: number])[]
}

const beforeEdge = [windowMs - nearMs, limit] as const
const afterEdge = [windowMs + nearMs, limit] as const
/** As much as a counter that weighs the window before by its overlap forgets of it, when it forgets it. */
const drizzle = Array.from(
  { length: limit - 1 },
  (_, nth) => [windowMs + 8 + (nth * windowMs) / limit, 1] as const,
)

const attacks: Record<string, Attack> = {
  "edge of a window that a request opened": { opens: true, bursts: [beforeEdge, afterEdge] },
  "edge of the clock's second": { opens: false, bursts: [beforeEdge, afterEdge] },
  "burst before the clock's second, then a drizzle": { opens: false, bursts: [beforeEdge, ...drizzle] },
}

interface Grant {
  readonly askedAt: number
  readonly answeredAt: number
}

export const accuracy: Case = {
  id: "accuracy",
  section: "waiting",
  seconds: 45,
  title: "accuracy at the edges of windows",
  async run({ redis, pace, progress }) {
    const all = await Promise.all(subjects(redis))
    const worst = new Map<Subject, number>(all.map((subject) => [subject, 0]))
    const repeats = pace.quick ? 1 : 3
    for (let repeat = 1; repeat <= repeats; repeat += 1) {
      for (const [name, attack] of Object.entries(attacks)) {
        progress.step(name)
        await sleep(windowMs - (Date.now() % windowMs))
        await Promise.all(
          all.map(async (subject) => {
            const most = mostInWindow(await under(attack, subject, `${name} ${repeat}`))
            worst.set(subject, Math.max(worst.get(subject) ?? 0, most))
          }),
        )
      }
    }
    await Promise.all(all.map((subject) => subject.close()))
    await redis.flush()
    const figures = (most: number): Figures => ({ admitted: most, ofLimit: most / limit })
    const rows = all.map((subject) => rowOf(subject.name, [figures(worst.get(subject) ?? 0)]))
    return [{ id: "accuracy", title: `The most admitted in any second, of a limit of ${limit}`, rows }]
  },
}

async function under({ opens, bursts }: Attack, subject: Subject, key: string): Promise<Grant[]> {
  const startedAt = performance.now()
  const grants: Grant[] = []
  const request = async () => {
    const askedAt = performance.now()
    const reply = await subject.decide(key).catch((thrown: unknown) => thrown)
    if (subject.passed(reply)) grants.push({ askedAt, answeredAt: performance.now() })
  }
  if (opens) await request()
  for (const [at, requests] of bursts) {
    await sleep(Math.max(0, startedAt + at - performance.now()))
    await Promise.all(Array.from({ length: requests }, request))
  }
  return grants
}

/** Counts only what was asked for and answered within the window, and so was certainly granted in it. */
function mostInWindow(grants: readonly Grant[]): number {
  const counts = grants.map(
    ({ askedAt: from }) =>
      grants.filter(({ askedAt, answeredAt }) => askedAt >= from && answeredAt <= from + windowMs).length,
  )
  return Math.max(0, ...counts)
}
