/** Something that must be over in time. */
interface Entry {
  readonly dueAt: number
  readonly expire: () => void
}

/** Deadlines that are all equally long, by one timer. */
export class Deadlines {
  readonly #ms: number
  readonly #now: () => number
  /** In the order in which they are due. */
  readonly #entries = new Set<Entry>()
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number, now: () => number) {
    this.#ms = ms
    this.#now = now
  }

  /** Calls `expire` when the time is over, unless what it returns is called before. */
  set(expire: () => void): () => void {
    const entry = { dueAt: this.#now() + this.#ms, expire }
    this.#entries.add(entry)
    this.#timer ??= this.#wakeIn(this.#ms)
    return () => this.#entries.delete(entry)
  }

  #wakeIn(ms: number): NodeJS.Timeout {
    // behind the answers that have come while this process was busy; without unref, which would have the immediate wait
    // until something else happens in a process that is quiet
    return setTimeout(() => setImmediate(() => this.#sweep()), Math.ceil(ms)).unref()
  }

  #sweep(): void {
    this.#timer = undefined
    const now = this.#now()
    for (const entry of this.#entries) {
      if (entry.dueAt > now) {
        this.#timer = this.#wakeIn(entry.dueAt - now)
        return
      }
      this.#entries.delete(entry)
      entry.expire()
    }
  }
}
