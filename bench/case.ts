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

/** One case, or several that belong together. */
export interface Case {
  /** What `--only` names. */
  readonly id: string
  readonly title: string
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
  // with few in flight V8 would not get round to compiling what is measured, nor ever at once
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
