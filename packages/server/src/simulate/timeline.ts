/** At most this many columns. When the log lasts longer, pairs of columns are merged. */
const COLUMNS = 60

export interface TimelineReport {
  /** When the first column begins, in milliseconds since the epoch. */
  readonly from: number
  /** How long a column lasts, in milliseconds. */
  readonly width: number
  readonly requests: readonly number[]
  readonly denied: readonly number[]
}

/** Counts requests over time in constant memory, though the length of the log is not known before its end. */
export class Timeline {
  #from = Number.NaN
  #width = 1_000
  #requests: number[] = []
  #denied: number[] = []

  /** Counts a request. Times must not go back. */
  add(time: number, isDenied: boolean): void {
    if (Number.isNaN(this.#from)) this.#from = Math.floor(time / 1_000) * 1_000
    while (time - this.#from >= COLUMNS * this.#width) this.#merge()
    const column = Math.floor((time - this.#from) / this.#width)
    this.#requests[column] = (this.#requests[column] ?? 0) + 1
    if (isDenied) this.#denied[column] = (this.#denied[column] ?? 0) + 1
  }

  report(): TimelineReport {
    const full = (counts: readonly number[]) =>
      Array.from({ length: this.#requests.length }, (_, i) => counts[i] ?? 0)
    return {
      from: this.#from,
      width: this.#width,
      requests: full(this.#requests),
      denied: full(this.#denied),
    }
  }

  #merge(): void {
    const half = (counts: readonly number[]) =>
      Array.from({ length: COLUMNS / 2 }, (_, i) => (counts[2 * i] ?? 0) + (counts[2 * i + 1] ?? 0))
    const used = Math.ceil(this.#requests.length / 2)
    this.#requests = half(this.#requests).slice(0, used)
    this.#denied = half(this.#denied).slice(0, used)
    this.#width *= 2
  }
}
