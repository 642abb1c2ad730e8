// One case in a process and on a server of its own: no case before it has left a heap behind, or had V8 compile code for
// more than what this one runs.
import { cases } from "./cases/index.js"
import { progressOf, type Turn } from "./progress.js"
import { startServer } from "./redis.js"
import type { Pace, Result } from "./rounds.js"
import { serve } from "./worker.js"

export interface CaseRequest {
  readonly id: string
  readonly pace: Pace
  readonly turn: Turn
}

export interface CaseReply {
  readonly results: readonly Result[]
  /** The server's version. */
  readonly version: string
}

serve<CaseRequest, CaseReply>(async ({ id, pace, turn }) => {
  const found = cases.find((each) => each.id === id)
  if (found === undefined) throw new Error(`there is no case ${id}`)
  const redis = await startServer()
  try {
    const progress = progressOf(turn, found.title)
    const results = await found.run({ redis, pace, progress })
    progress.end()
    return { results, version: await redis.version() }
  } finally {
    await redis.stop()
  }
})
