// One subject in memory, alone in a process, so that its heap is its own and its code is compiled for it only.
import { bytesHeld } from "../packages/sluice/test/support/memory.js"
import { copied, keyOf, shuffled } from "./keys.js"
import type { Figures } from "./rounds.js"
import { memorySubjects } from "./subjects/memory.js"
import { serve } from "./worker.js"

export type MemoryRequest =
  /** Asks once for this many keys, and tells what that made the heap grow by. */
  | { readonly fill: number }
  /** Asks for keys among those filled in for so many milliseconds; anew: each time with a string that is new. */
  | { readonly warmMs: number; readonly anew?: true }
  /** Asks once for this many keys that were never asked for. */
  | { readonly fresh: number }

const before = bytesHeld()
const make = memorySubjects[process.argv[2] ?? ""]
if (make === undefined) throw new Error(`no subject in memory is named ${process.argv[2]}`)
const decide = make()

let filled: string[] = []
let next = 0

serve<MemoryRequest, Figures>((request) => {
  if ("fill" in request) return fill(request.fill)
  if ("fresh" in request) return fresh(request.fresh)
  return request.anew ? warmAnew(request.warmMs) : warm(request.warmMs)
})

async function fill(count: number): Promise<Figures> {
  for (let index = 0; index < count; index += 1) await decide(keyOf(index))
  const grown = bytesHeld() - before
  filled = shuffled(count) // after the heap was looked at, which so holds no key but those that were kept
  return { bytes: grown / count, megabytes: grown / 1e6 }
}

async function warm(ms: number): Promise<Figures> {
  let done = 0
  const startedAt = performance.now()
  while (performance.now() - startedAt < ms) {
    for (let times = 0; times < 1_000; times += 1) {
      await decide(filled[next] as string)
      next = next + 1 === filled.length ? 0 : next + 1
    }
    done += 1_000
  }
  return timed(done, performance.now() - startedAt)
}

/** V8 keeps the hash of a string with it: those of requests have none yet. They are made while no time is taken. */
async function warmAnew(ms: number): Promise<Figures> {
  let [done, took] = [0, 0]
  while (took < ms) {
    const keys: string[] = []
    for (let times = 0; times < 1_000; times += 1) {
      keys.push(copied(filled[next] as string))
      next = next + 1 === filled.length ? 0 : next + 1
    }
    const startedAt = performance.now()
    for (const key of keys) await decide(key)
    took += performance.now() - startedAt
    done += keys.length
  }
  return timed(done, took)
}

async function fresh(count: number): Promise<Figures> {
  const keys = shuffled(count, next)
  next += count
  const startedAt = performance.now()
  for (const key of keys) await decide(key)
  return timed(count, performance.now() - startedAt)
}

function timed(done: number, ms: number): Figures {
  return { rate: done / (ms / 1_000), nanoseconds: (ms * 1e6) / done }
}
