import { soon } from "./later.js"

/** A stretch of code in which nothing else runs; milliseconds by `performance.now()`. */
export interface Stretch {
  /** When it was first asked for: a moment that is not after anything that asks for it. */
  readonly beganAt: number
  /** When it ended, infinite before: nothing that began in it can be over before that. */
  endedAt: number
}

let atHand: Stretch | undefined

/** The stretch at hand. All that happens in it share two readings of the clock, each of which takes as long as a map look-up. */
export function stretchAtHand(): Stretch {
  if (atHand === undefined) {
    atHand = { beganAt: performance.now(), endedAt: Number.POSITIVE_INFINITY }
    soon.then(end)
  }
  return atHand
}

function end(): void {
  const ended = atHand as Stretch
  atHand = undefined
  ended.endedAt = performance.now()
}
