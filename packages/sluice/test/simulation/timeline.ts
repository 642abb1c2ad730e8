/** One of the simulated processes, as far as time goes. */
export interface Owner {
  readonly name: string
  /** Microseconds by which its wall clock is ahead. */
  skew: number
  /** Whether it was killed: nothing of it runs any more. */
  dead: boolean
  /** Until when it is held up, and nothing of it runs. */
  stalledUntil: number
  /** How long it was held up in all. */
  stalled: number
  /** Its timers that are set; those that keep it alive. */
  timers: number
  keptAlive: number
}

interface Event {
  at: number
  order: number
  readonly owner: Owner | undefined
  /** Undefined once it is cancelled or over. */
  run: (() => void) | undefined
  /** Whether promises may have to settle after it. */
  readonly settles: boolean
}

/** The real one, whatever is put in its place. */
const realImmediate = setImmediate

/** What began at microsecond 0 of the simulation, by the wall clock. */
export const EPOCH = 1_780_000_000_000_000

/**
 * Simulated time, in microseconds. Events happen in the order of their times, and of being set; after each, all promises
 * settle that can. Nothing happens in between, so what is set meanwhile belongs to the owner of the event.
 */
export class Timeline {
  now = 0
  owner: Owner | undefined
  /** Called after each event, when promises have settled. */
  afterEvent = () => {}
  readonly #heap: Event[] = []
  #order = 0

  at(time: number, owner: Owner | undefined, run: () => void, settles = true): Event {
    const event = { at: Math.max(time, this.now), order: this.#order++, owner, run, settles }
    this.#push(event)
    return event
  }

  cancel(event: Event): void {
    event.run = undefined
  }

  /** Holds a process up from now on. */
  stall(owner: Owner, us: number): void {
    const until = this.now + us
    if (until <= owner.stalledUntil) return
    owner.stalled += until - Math.max(owner.stalledUntil, this.now)
    owner.stalledUntil = until
  }

  async runUntil(end: number): Promise<void> {
    for (let event = this.#heap[0]; event !== undefined && event.at <= end; event = this.#heap[0]) {
      this.#pop()
      const { owner, run, settles } = event
      if (run === undefined || owner?.dead === true) continue
      if (owner !== undefined && owner.stalledUntil > event.at) {
        event.at = owner.stalledUntil
        event.order = this.#order++
        this.#push(event)
        continue
      }
      event.run = undefined
      this.now = event.at
      this.owner = owner
      run()
      if (settles) {
        await new Promise((resolve) => realImmediate(resolve))
        this.afterEvent()
      }
      this.owner = undefined
    }
    this.now = Math.max(this.now, end)
  }

  #push(event: Event): void {
    const heap = this.#heap
    let stateRef = heap.length
    heap.push(event)
    while (stateRef > 0) {
      const above = (stateRef - 1) >> 1
      if (!isBefore(event, heap[above] as Event)) break
      heap[stateRef] = heap[above] as Event
      stateRef = above
    }
    heap[stateRef] = event
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let stateRef = 0
    for (;;) {
      const left = stateRef * 2 + 1
      if (left >= heap.length) break
      const right = left + 1
      const least = right < heap.length && isBefore(heap[right] as Event, heap[left] as Event) ? right : left
      if (!isBefore(heap[least] as Event, last)) break
      heap[stateRef] = heap[least] as Event
      stateRef = least
    }
    heap[stateRef] = last
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
