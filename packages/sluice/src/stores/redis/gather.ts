import { SluiceError } from "../../errors.js"
import { Later, soon } from "../../later.js"
import type { Answer, Part } from "../../store.js"
import { stretchAtHand } from "../../stretch.js"
import { further, placeOf, type ScriptAsk } from "./call.js"
import { Group } from "./group.js"
import { tagOf } from "./slot-tag.js"

/** Answers all that it is given with one call, and says when that is over, which may be at once; it never throws. */
export type Deliver = (batch: readonly Group[], over: () => void) => void

/** How many calls are under way at once: enough that neither Redis nor this process waits for the other. */
const CALLS = 4
/** How many asks are not spread over several calls: with a few under way, answers that overlap are worth more than a call. */
const FEW = 2
/** How many asks share a call at the most, so that none holds Redis for longer than about half a millisecond. */
const MOST_ASKS = 64
/** As how many an ask counts that looks further than this moment. */
const FURTHER = 4
/** How many states share a call at the most, with a key each or several in one, unless a single ask has more. */
const MOST_STATES = 256
/** How many asks wait for a call at the most. */
const MOST_WAITING = 100_000
/** How many keys are remembered of groups that have left. */
const MOST_REMEMBERED = 1_024
/** Milliseconds after which a call without an answer no longer keeps others from leaving. */
const OVERDUE = 1_000

/** A call that has no answer yet, and since when: the end of the stretch in which it was asked for. */
interface UnderWay {
  readonly since: number
}

/**
 * Gathers asks into calls. A lone ask leaves in the same turn of the event loop; asks that come together share
 * calls, several of them; while those are under way, later asks gather for the next. Equal asks become one with a
 * count. No timer is involved.
 */
export function gather(
  deliver: Deliver,
  calls = CALLS,
  waiting = { asks: 0 },
): (ask: ScriptAsk) => Later<Answer> {
  const underWay: UnderWay[] = []
  let queue: Group[] = []
  /** How many groups have left the queue, ever. */
  let gone = 0
  /**
   * The number of the last group that has a key, in whatever scope, counted from the first ever. Numbers, because what a
   * map has ever held may live for long; and what has left stays in it for a while, because taking it out costs more.
   */
  const lastOf = new Map<string, number>()
  /** The number of the first group that may not be in there: nobody looks for a lone one. */
  let unlisted = 0
  let scheduled = false
  /** In which asks were last scheduled: it has ended when they leave. */
  let stretch = stretchAtHand()

  const schedule = () => {
    if (scheduled) return
    stretch = stretchAtHand()
    // behind the callers that the last answers have woken and that ask again in this turn
    soon.then(send)
    scheduled = true
  }

  const send = () => {
    scheduled = false
    // before anybody is answered at once, asks again and has that scheduled
    const since = stretch.endedAt
    while (queue.length > 0 && (underWay.length < calls || dropOverdue(underWay))) {
      const share = Math.max(Math.ceil(queue.length / (calls - underWay.length)), FEW)
      const call = { since }
      const batch = take(endOfCall(queue, share), since)
      underWay.push(call)
      deliver(batch, () => {
        drop(underWay, call)
        // they ask again a turn or two after they were told
        if (queue.length > 0) soon.then(schedule)
      })
    }
    if (lastOf.size > MOST_REMEMBERED + 4 * queue.length) {
      lastOf.clear()
      unlisted = gone
    }
  }

  /** Takes groups out of the queue; before they are delivered, so that whoever is told at once and asks again joins none. */
  const take = (count: number, sentAt: number): Group[] => {
    const batch = count < queue.length ? queue.splice(0, count) : queue
    if (batch === queue) queue = []
    gone += batch.length
    for (const group of batch) {
      group.sentAt = sentAt
      waiting.asks -= group.size
    }
    return batch
  }

  const enqueue = (ask: ScriptAsk, follows: boolean): Group => {
    const group = new Group(ask, follows)
    queue.push(group)
    return group
  }

  /** Lists what has been queued since somebody last looked. */
  const listAll = () => {
    for (let number = Math.max(unlisted, gone); number < gone + queue.length; number += 1) {
      const { parts } = queue[number - gone] as Group
      for (let i = 0; i < parts.length; i += 1) lastOf.set((parts[i] as Part).key, number)
    }
    unlisted = gone + queue.length
  }

  /** The number of the last group in the queue that has a key. */
  const lastWith = (key: string): number | undefined => {
    const number = lastOf.get(key)
    return number !== undefined && number >= gone ? number : undefined
  }

  return (ask) => {
    if (waiting.asks >= MOST_WAITING) {
      const refused = new Later<Answer>()
      refused.reject(
        new SluiceError(
          "STORE_REFUSED",
          `${MOST_WAITING} asks wait for Redis already; ask again when some are answered`,
        ),
      )
      return refused
    }
    schedule()
    waiting.asks += 1
    // most often a lone one, for which there is nothing to look up
    if (queue.length === 0) return enqueue(ask, false)
    listAll()
    const { parts } = ask
    const last = lastWith(placeOf(ask).key)
    // what came in between for one of the keys keeps its turn
    let isLast = last !== undefined
    let follows = isLast
    for (let i = 1; i < parts.length; i += 1) {
      const number = lastWith((parts[i] as Part).key)
      isLast &&= number === last
      follows ||= number !== undefined
    }
    const equal = isLast ? (queue[(last as number) - gone] as Group) : undefined
    return equal?.takes(ask) ? equal.add() : enqueue(ask, follows)
  }
}

/** How many asks a call takes that would take `share`. */
function endOfCall(queue: readonly Group[], share: number): number {
  const most = Math.min(share, queue.length)
  let end = 0
  let states = 0
  let asks = 0
  while (end < most) {
    const { parts, note, mode } = queue[end] as Group
    states += parts.length + (note === undefined ? 0 : 1)
    asks += further.has(mode) ? FURTHER : 1
    if ((states > MOST_STATES || asks > MOST_ASKS) && end > 0) break
    end += 1
  }
  return end
}

function drop(underWay: UnderWay[], call: UnderWay): void {
  const index = underWay.indexOf(call)
  if (index < 0) return
  const last = underWay.pop() as UnderWay
  if (last !== call) underWay[index] = last
}

function dropOverdue(underWay: UnderWay[]): boolean {
  const now = performance.now()
  const overdue = underWay.filter(({ since }) => now - since > OVERDUE)
  for (const call of overdue) drop(underWay, call)
  return overdue.length > 0
}

/** Gathers only what a Cluster answers in one call: asks whose keys share a hash tag, of which there are a few. */
export function gatherByTag(deliver: Deliver): (ask: ScriptAsk) => Later<Answer> {
  const queues = new Map<string, ReturnType<typeof gather>>()
  const waiting = { asks: 0 }
  return (ask) => {
    const tag = tagOf(placeOf(ask))
    let enqueue = queues.get(tag)
    if (enqueue === undefined) {
      // there are queues enough to keep everybody busy: one call each makes for fewer, larger ones
      enqueue = gather(deliver, 1, waiting)
      queues.set(tag, enqueue)
    }
    return enqueue(ask)
  }
}
