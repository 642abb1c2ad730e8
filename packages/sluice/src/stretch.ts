import type { Clock } from "./clock.js"
import { soon } from "./later.js"

/** A stretch of code in which nothing else runs, up to the next turn of the microtask queue. */
export interface Stretch {
  /** When it ended by `performance.now()`, infinite before: nothing that began in it can be over before that. */
  endedAt: number
}

let atHand: Stretch | undefined
/** What the clock said when it was last read in the stretch at hand. */
let lastRead: number | undefined
let ends = false

/** The stretch at hand, for what counts from its end. */
export function stretchAtHand(): Stretch {
  if (atHand === undefined) {
    atHand = { endedAt: Number.POSITIVE_INFINITY }
    endSoon()
  }
  return atHand
}

/**
 * Milliseconds that never go back, and stand still while a stretch lasts: to read a clock takes as long as to look a key
 * up, and what is answered in a stretch is heard of when it is over.
 */
export const byStretch: Clock = () => lastRead ?? anew()

/** The same, read anew for the rest of the stretch. */
export const anew: Clock = () => {
  lastRead = performance.now()
  endSoon()
  return lastRead
}

function endSoon(): void {
  if (ends) return
  ends = true
  soon.then(end)
}

function end(): void {
  ends = false
  lastRead = undefined
  if (atHand === undefined) return
  atHand.endedAt = performance.now()
  atHand = undefined
}
