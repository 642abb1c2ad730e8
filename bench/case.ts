import { closedLoop, type Load } from "./closed-loop.js"
import type { Progress } from "./progress.js"
import type { Server } from "./redis.js"
import { interleave, type Pace, type Result, type Row } from "./rounds.js"
import type { Subject } from "./subject.js"

/** What a case needs to run. */
export interface Bench {
  readonly redis: Server
  readonly pace: Pace
  readonly progress: Progress
}

/** The parts of a run that `--only` can choose. */
export const sections = [
  "redis",
  "policies",
  "network",
  "fleet",
  "cluster",
  "waiting",
  "memory",
  "http",
  "service",
] as const
export type Section = (typeof sections)[number]

/** One case, or several that belong together. */
export interface Case {
  /** `--only` accepts it, too. */
  readonly id: string
  readonly section: Section
  readonly title: string
  /** How long a full run takes, roughly. The progress line uses it. */
  readonly seconds: number
  run(bench: Bench): Promise<Result[]>
}

/** The subjects that have run in this process, and how long one that has not is warmed up. */
const compiled = new Set<string>()
const firstMs = 600

/** Puts all candidates under the same closed loop. */
export async function compare(
  { redis, pace, progress }: Bench,
  candidates: readonly Promise<Subject>[],
  load: Omit<Load, "ms">,
): Promise<Row[]> {
  const subjects = await Promise.all(candidates)
  const run = (subject: Subject, ms: number, warming: boolean) =>
    warming ? warmUp(subject, ms) : closedLoop(subject, redis, { ...load, ms })
  // With few requests in flight V8 would compile the measured code late or never.
  const warmUp = (subject: Subject, ms: number) => {
    const longer = compiled.has(subject.name) ? ms : Math.max(ms, firstMs)
    compiled.add(subject.name)
    return closedLoop(subject, redis, { ...load, inFlight: Math.max(load.inFlight, 256), ms: longer })
  }
  try {
    return await interleave(subjects, run, pace, progress)
  } finally {
    await Promise.all(subjects.map((subject) => subject.close()))
    await redis.flush()
  }
}
