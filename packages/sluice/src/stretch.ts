import type { Clock } from "./clock.js"
import { soon } from "./later.js"

/** A stretch of code in which nothing else runs, up to the next turn of the microtask queue. */
export interface Stretch {
  /** When it ended by `performance.now()`, infinite before: nothing that began in it can be over before that. */
  endedAt: number
}

/** How often the time is told by one reading of the clock: those who ask may be busy for a while between. */
const MOST_TOLD = 32

let atHand: Stretch | undefined
/** What the clock said when it was last read in the stretch at hand, and how often that was told. */
let lastRead: number | undefined
let told = 0
let ends = false

/** The stretch at hand, for what counts from its end. */
export function stretchAtHand(): Stretch {
  if (atHand === undefined) {
    endSoon()
    atHand = { endedAt: Number.POSITIVE_INFINITY }
  }
  return atHand
}

/**
 * Milliseconds that never go back, and stand still while a stretch lasts, though not for more than so many who ask: to read a
 * clock takes as long as to look a key up, and what is answered in a stretch is heard of when it is over.
 */
export const byStretch: Clock = () => {
  if (lastRead === undefined || told === MOST_TOLD) return anew()
  told += 1
  return lastRead
}

/** The same, read anew for the rest of the stretch. */
const anew: Clock = () => {
  endSoon()
  told = 1
  lastRead = performance.now()
  return lastRead
}

/** A clock for what has just happened, which may be after its last reading. */
export function anewBy(clock: Clock): Clock {
  return clock === byStretch ? anew : clock
}

function endSoon(): void {
  if (ends) return
  // first, because this may fail: for want of stack, say
  soon.then(end)
  ends = true
}

function end(): void {
  const ended = atHand
  ends = false
  atHand = undefined
  lastRead = undefined
  if (ended !== undefined) ended.endedAt = performance.now()
}
