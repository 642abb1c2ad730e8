// One case in a process and on a server of its own: no case before it has left a heap behind, or had V8 compile code for
// more than what this one runs.
import { cases } from "./cases/index.js"
import { type Place, progressOf } from "./progress.js"
import { startServer } from "./redis.js"
import type { Pace, Result } from "./rounds.js"
import { serve } from "./worker.js"

export interface CaseRequest {
  readonly id: string
  readonly pace: Pace
  readonly place: Place
}

export interface CaseReply {
  readonly results: readonly Result[]
  /** The server's version. */
  readonly version: string
}

serve<CaseRequest, CaseReply>(async ({ id, pace, place }) => {
  const found = cases.find((each) => each.id === id)
  if (found === undefined) throw new Error(`there is no case ${id}`)
  const redis = await startServer()
  const progress = progressOf(place, found.title)
  const results = await found.run({ redis, pace, progress })
  progress.end()
  const version = await redis.version()
  await redis.stop()
  return { results, version }
})
