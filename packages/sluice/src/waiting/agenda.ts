/** A priority queue by time, soonest first. It is a binary heap. */
export class Agenda<Thing> {
  readonly #entries: { readonly due: number; readonly thing: Thing }[] = []

  get size(): number {
    return this.#entries.length
  }

  /** When the first entry is due. `Infinity` if there is none. */
  get next(): number {
    return this.#entries[0]?.due ?? Number.POSITIVE_INFINITY
  }

  add(due: number, thing: Thing): void {
    const entries = this.#entries
    const entry = { due, thing }
    let at = entries.length
    entries.push(entry)
    while (at > 0) {
      const above = (at - 1) >> 1
      const parent = entries[above] as typeof entry
      if (parent.due <= due) break
      entries[at] = parent
      at = above
    }
    entries[at] = entry
  }

  /** Removes and returns the first entry. Undefined if there is none. */
  shift(): Thing | undefined {
    const entries = this.#entries
    const [first] = entries
    const last = entries.pop()
    if (first === undefined || last === undefined || entries.length === 0) return first?.thing
    let at = 0
    for (;;) {
      const left = at * 2 + 1
      const right = left + 1
      const leftDue = entries[left]?.due ?? Number.POSITIVE_INFINITY
      const rightDue = entries[right]?.due ?? Number.POSITIVE_INFINITY
      if (Math.min(leftDue, rightDue) >= last.due) break
      const below = leftDue <= rightDue ? left : right
      entries[at] = entries[below] as typeof last
      at = below
    }
    entries[at] = last
    return first.thing
  }

  clear(): void {
    this.#entries.length = 0
  }
}
