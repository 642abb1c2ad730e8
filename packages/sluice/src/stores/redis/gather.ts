import { SluiceError } from "../../errors.js"
import type { Answer } from "../../store.js"
import type { ScriptAsk } from "./call.js"
import { Group } from "./group.js"

/** Answers all that it is given with one call, and never rejects. */
export type Deliver = (batch: readonly Group[]) => Promise<void>

/** How many calls are under way at once: enough that neither Redis nor this process waits for the other. */
const CALLS = 4
/** How many asks share a call at the most, so that none holds Redis for longer than about half a millisecond. */
const MOST_ASKS = 64
/** How many keys share a call at the most, unless a single ask has more. */
const MOST_KEYS = 256
/** How many asks wait for a call at the most. */
const MOST_WAITING = 100_000
/** Milliseconds after which a call without an answer no longer keeps others from leaving. */
const OVERDUE = 1_000

/**
 * Gathers asks into calls. A lone ask leaves in the same turn of the event loop; asks that come together share
 * calls, several of them; while those are under way, later asks gather for the next. Equal asks become one with a
 * count. No timer is involved.
 */
export function gather(deliver: Deliver): (ask: ScriptAsk) => Promise<Answer> {
  const underWay = new Set<{ readonly since: number }>()
  let queue: Group[] = []
  /** The last group in the queue that has a key. */
  const lastOf = new Map<string, Group>()
  let waiting = 0
  let scheduled = false

  const schedule = () => {
    if (scheduled || queue.length === 0) return
    if (underWay.size === CALLS && !dropOverdue(underWay)) return
    scheduled = true
    // behind the callers that the last answers have woken and that ask again in this turn
    queueMicrotask(send)
  }

  const send = () => {
    scheduled = false
    let sent = 0
    while (sent < queue.length && underWay.size < CALLS) {
      const share = Math.ceil((queue.length - sent) / (CALLS - underWay.size))
      const batch = queue.slice(sent, endOfCall(queue, sent, share))
      sent += batch.length
      leave(batch)
      const call = { since: performance.now() }
      const over = () => {
        underWay.delete(call)
        schedule()
      }
      underWay.add(call)
      deliver(batch).then(over, over)
    }
    queue = queue.slice(sent)
  }

  const leave = (batch: readonly Group[]) => {
    for (const group of batch) {
      waiting -= group.callers.length
      for (const key of group.keys) if (lastOf.get(key) === group) lastOf.delete(key)
    }
  }

  return (ask) =>
    new Promise((resolve, reject) => {
      if (waiting >= MOST_WAITING) {
        throw new SluiceError("STORE_REFUSED", `${MOST_WAITING} asks wait for Redis already`)
      }
      waiting += 1
      const equal = lastOf.get(ask.keys[0] as string)
      // what came in between for one of the keys keeps its turn
      if (equal?.takes(ask) && ask.keys.every((key) => lastOf.get(key) === equal)) {
        equal.callers.push({ resolve, reject })
        return
      }
      const group = new Group(ask, { resolve, reject })
      for (const key of ask.keys) lastOf.set(key, group)
      queue.push(group)
      schedule()
    })
}

/** Where a call ends that begins at `from` and would take `share` asks. */
function endOfCall(queue: readonly Group[], from: number, share: number): number {
  const most = Math.min(from + Math.min(share, MOST_ASKS), queue.length)
  let end = from
  let keys = 0
  while (end < most) {
    keys += (queue[end] as Group).keys.length
    if (keys > MOST_KEYS && end > from) break
    end += 1
  }
  return end
}

function dropOverdue(underWay: Set<{ readonly since: number }>): boolean {
  const now = performance.now()
  for (const call of underWay) if (now - call.since > OVERDUE) underWay.delete(call)
  return underWay.size < CALLS
}

/** Gathers only what a Cluster answers in one call: asks whose keys share a hash tag. */
export function gatherByTag(deliver: Deliver): (ask: ScriptAsk) => Promise<Answer> {
  const lanes = new Map<string, ReturnType<typeof gather>>()
  return (ask) => {
    const tag = tagOf(ask)
    let lane = lanes.get(tag)
    if (lane === undefined) {
      lane = gather(deliver)
      lanes.set(tag, lane)
    }
    return lane(ask)
  }
}

function tagOf({ keys: [key = ""] }: ScriptAsk): string {
  return key.slice(0, key.indexOf("}"))
}
