import { SluiceError } from "../../errors.js"
import type { Answer } from "../../store.js"
import type { ScriptAsk } from "./call.js"
import type { Waiting } from "./deliver.js"

/** Answers all that it is given with one call, and never rejects. */
export type Deliver = (batch: readonly Waiting[]) => Promise<void>

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
 * calls, several of them; while those are under way, later asks gather for the next. No timer is involved.
 */
export function gather(deliver: Deliver): (ask: ScriptAsk) => Promise<Answer> {
  const underWay = new Set<{ readonly since: number }>()
  const queue: Waiting[] = []
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
      const call = { since: performance.now() }
      const over = () => {
        underWay.delete(call)
        schedule()
      }
      underWay.add(call)
      deliver(batch).then(over, over)
    }
    queue.splice(0, sent)
  }

  return (ask) =>
    new Promise((resolve, reject) => {
      if (queue.length >= MOST_WAITING) {
        throw new SluiceError("STORE_REFUSED", `${MOST_WAITING} asks wait for Redis already`)
      }
      queue.push({ ask, since: performance.now(), resolve, reject })
      schedule()
    })
}

/** Where a call ends that begins at `from` and would take `share` asks. */
function endOfCall(queue: readonly Waiting[], from: number, share: number): number {
  const most = Math.min(from + Math.min(share, MOST_ASKS), queue.length)
  let end = from
  let keys = 0
  while (end < most) {
    keys += (queue[end] as Waiting).ask.parts.length
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

/** Gathers only what a Cluster answers in one call: the asks of one turn whose keys share a hash tag. */
export function gatherByTag(deliver: Deliver): (ask: ScriptAsk) => Promise<Answer> {
  let queue: Waiting[] = []

  const send = () => {
    const byTag = new Map<string, Waiting[]>()
    for (const waiting of queue) {
      const batch = byTag.get(tagOf(waiting))
      if (batch === undefined) byTag.set(tagOf(waiting), [waiting])
      else batch.push(waiting)
    }
    queue = []
    for (const batch of byTag.values()) {
      for (let from = 0, end = 0; from < batch.length; from = end) {
        end = endOfCall(batch, from, MOST_ASKS)
        deliver(batch.slice(from, end))
      }
    }
  }

  return (ask) =>
    new Promise((resolve, reject) => {
      if (queue.length === 0) queueMicrotask(send)
      queue.push({ ask, since: performance.now(), resolve, reject })
    })
}

function tagOf({ ask }: Waiting): string {
  const key = ask.parts[0]?.key ?? ""
  return key.slice(0, key.indexOf("}"))
}
