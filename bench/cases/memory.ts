import type { Case } from "../case.js"
import type { MemoryRequest } from "../memory-worker.js"
import { type Figures, interleave, type Row, rowOf } from "../rounds.js"
import { baseline } from "../subject.js"
import { memorySubjects } from "../subjects/memory.js"
import { startWorker, type Worker } from "../worker.js"

type MemoryWorker = Worker<MemoryRequest, Figures>

const start = (subject: string, name = subject): MemoryWorker =>
  startWorker(name, "memory-worker.ts", [subject])
const everyone = Object.keys(memorySubjects)
/** One way for each library is enough where what differs is the number of keys, or whether they are known. */
const oneOfEach = everyone.filter((subject) => subject !== "sluice slidingWindow")

async function using<T>(workers: MemoryWorker[], use: (workers: MemoryWorker[]) => Promise<T>): Promise<T> {
  try {
    return await use(workers)
  } finally {
    for (const worker of workers) worker.stop()
  }
}

export const memoryWarm: Case = {
  id: "memory-warm",
  section: "memory",
  seconds: 50,
  title: "in memory, keys that are known",
  run: ({ pace, progress }) =>
    using(
      everyone.map((subject) => start(subject)),
      async (workers) => {
        for (const worker of workers) await worker.ask({ fill: 10_000 })
        const rows = await interleave(workers, (worker, ms) => worker.ask({ warmMs: ms }), pace, progress)
        const warm = {
          id: "memory-warm",
          title: "In memory, 10,000 keys, one decision after the other",
          rows,
        }
        if (pace.quick) return [warm]
        const anew = await interleave(
          workers,
          (worker, ms) => worker.ask({ warmMs: ms, anew: true }),
          pace,
          progress,
        )
        const title = "In memory, 10,000 keys, each time in a new string, as requests bring them"
        return [warm, { id: "memory-warm-anew", title, rows: anew }]
      },
    ),
}

export const memoryNew: Case = {
  id: "memory-new",
  section: "memory",
  seconds: 20,
  title: "in memory, new keys",
  run: ({ pace, progress }) =>
    using(
      oneOfEach.map((subject) => start(subject)),
      async (workers) => {
        const fresh = pace.quick ? 50_000 : 100_000
        const rows = await interleave(workers, (worker) => worker.ask({ fresh }), pace, progress)
        return [{ id: "memory-new", title: "In memory, every key new", rows }]
      },
    ),
}

const sizes = { "1 k": 1_000, "100 k": 100_000, "1 M": 1_000_000 }

export const memoryScale: Case = {
  id: "memory-scale",
  section: "memory",
  seconds: 90,
  title: "in memory, by number of keys",
  async run({ pace, progress }) {
    const subjects = pace.quick ? ["sluice", baseline] : oneOfEach
    const filled = new Map<MemoryWorker, Figures>()
    const all = Object.keys(sizes).flatMap((size) =>
      subjects.map((subject) => ({ size, worker: start(subject, `${subject}, ${size} keys`) })),
    )
    return using(
      all.map(({ worker }) => worker),
      async (workers) => {
        for (const { size, worker } of all) {
          progress.step(`filling ${worker.name}`)
          filled.set(worker, await worker.ask({ fill: sizes[size as keyof typeof sizes] }))
        }
        const timed = await interleave(workers, (worker, ms) => worker.ask({ warmMs: ms }), pace, progress)
        const rows = timed.map((row, index): Row => {
          const { figures } = rowOf(row.subject, [filled.get(workers[index] as MemoryWorker) as Figures])
          return { subject: row.subject, figures: { ...row.figures, ...figures } }
        })
        return [{ id: "memory-scale", title: "In memory, by number of keys of 16 bytes", rows }]
      },
    )
  },
}
