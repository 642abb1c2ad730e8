/** An operation of one caller on a key, with its reply. Times are nanoseconds of one clock for all processes. */
export type Operation = { readonly invokedAt: number; readonly respondedAt: number; readonly by?: string } & (
  | {
      readonly kind: "ask" | "peek"
      readonly cost: number
      readonly allowed: boolean
      readonly remaining: number
    }
  | { readonly kind: "refund"; readonly cost: number }
  | { readonly kind: "reset" }
)

/**
 * The attempts of the search. `width`: from how many operations of each caller, in the order of their start, the next one is
 * chosen. Then the number of states after which the attempt stops.
 */
const ATTEMPTS: readonly [width: number, states: number][] = [
  [1, 50_000],
  [4, 50_000],
  [Infinity, 300_000],
]

interface Attempt {
  /** How many operations are placed. */
  readonly placed: number
  /** The operations of which one must come next, in the order of their start. */
  readonly next: readonly Operation[]
  readonly remaining: number
}

interface Stuck extends Attempt {
  readonly last: readonly Operation[]
}

/**
 * Searches for a sequential order of the operations on one key that explains every reply. The model is a counter of `limit`
 * units that never refill. An operation that started after another had its reply must come after it. Returns undefined if
 * there is such an order, otherwise a report on where the longest attempt got stuck.
 *
 * The algorithm is Wing and Gong's, with Lowe's cache of visited states ("Testing for linearizability", 2017). Two rules
 * avoid equivalent orders:
 *
 * - An operation that changes nothing and fits now is placed now.
 * - Of equal operations, the one with the earlier reply goes first.
 *
 * Operations of one caller are usually decided in their order. So such orders are tried first, and all orders before the
 * search reports a violation.
 */
export function violationIn(history: readonly Operation[], limit: number): string | undefined {
  let longest: Stuck | undefined
  for (const [width, states] of ATTEMPTS) {
    const found = longestOrder(history, limit, width, states)
    if (found === "complete") return undefined
    if (found !== "given up") longest = found
    else if (width === Infinity) {
      const kept = longest && `, but if callers are served as they asked, ${report(longest, history.length)}`
      throw new Error(`no verdict after ${states} states${kept ?? ""}`)
    }
  }
  return longest && report(longest, history.length)
}

/** The longest order that takes operations from the first `width` of each caller. */
function longestOrder(
  history: readonly Operation[],
  limit: number,
  width: number,
  most: number,
): Stuck | "complete" | "given up" {
  const order = new Order(history, limit)
  // For each set of placed changes, the sets of other operations that were tried with it.
  const seen = new Map<string, bigint[]>()
  let states = 0
  let longest: Stuck | undefined

  const complete = (): boolean => {
    const mark = order.length
    order.placeWhatChangesNothing()
    if (order.length === history.length) return true
    const attempt = { placed: order.length, next: order.next(), remaining: order.remaining }
    if (longest === undefined || attempt.placed > longest.placed) {
      longest = { ...attempt, last: order.last(8) }
    }
    const before = seen.get(order.changes) ?? []
    // If a larger set of the others did not help, a smaller one cannot.
    if (!before.some((others) => (others | order.others) === others)) {
      seen.set(order.changes, [...before, order.others])
      states += 1
      for (const operation of choices(attempt, limit, width)) {
        if (states > most) break
        order.place(operation)
        if (complete()) return true
        order.takeBack(order.length - 1)
      }
    }
    order.takeBack(mark)
    return false
  }

  if (complete()) return "complete"
  return states > most ? "given up" : (longest as Stuck)
}

/** The units left after an operation. Undefined if its reply does not fit. */
function after(operation: Operation, remaining: number, limit: number): number | undefined {
  switch (operation.kind) {
    case "reset":
      return limit
    case "refund":
      return Math.min(remaining + operation.cost, limit)
    default: {
      const { kind, cost, allowed } = operation
      if (allowed !== remaining >= cost) return undefined
      const left = kind === "ask" && allowed ? remaining - cost : remaining
      return operation.remaining === left ? left : undefined
    }
  }
}

function changesNothing(operation: Operation): boolean {
  return operation.kind === "peek" || (operation.kind === "ask" && !operation.allowed)
}

/** Operations among the first `width` of each caller that fit now. Of equal ones, the first that got its reply. */
function choices({ next, remaining }: Attempt, limit: number, width: number): Iterable<Operation> {
  const taken = new Map<string | undefined, number>()
  const sorts = new Map<string, Operation>()
  for (const operation of next.filter((each) => !changesNothing(each))) {
    const { kind, by, respondedAt } = operation
    const before = taken.get(by) ?? 0
    taken.set(by, before + 1)
    if (before >= width || after(operation, remaining, limit) === undefined) continue
    // While the order of each caller counts, operations of different callers are not equal.
    const sort = `${kind} ${"cost" in operation ? operation.cost : ""} ${width === Infinity ? "" : by}`
    const known = sorts.get(sort)
    if (known === undefined || respondedAt < known.respondedAt) sorts.set(sort, operation)
  }
  return [...sorts.values()].sort((a, b) => a.respondedAt - b.respondedAt)
}

/** The start of an order. Operations are added to it and removed again. */
class Order {
  remaining: number
  /** The placed operations that change nothing, as bits. */
  others = 0n
  readonly #limit: number
  /** Sorted by their start. */
  readonly #operations: readonly Operation[]
  readonly #numbers: ReadonlyMap<Operation, number>
  /** 1 for each placed operation. */
  readonly #done: Buffer
  /** The same for operations that change something. */
  readonly #changed: Buffer
  /** All operations before this one are placed. */
  #first = 0
  /** No change from this one on is placed. */
  #end = 0
  readonly #placed: { readonly operation: Operation; readonly before: number }[] = []

  constructor(history: readonly Operation[], limit: number) {
    this.remaining = limit
    this.#limit = limit
    this.#operations = [...history].sort((a, b) => a.invokedAt - b.invokedAt)
    this.#numbers = new Map(this.#operations.map((operation, i) => [operation, i]))
    this.#done = Buffer.alloc(history.length)
    this.#changed = Buffer.alloc(history.length)
  }

  get length(): number {
    return this.#placed.length
  }

  last(count: number): Operation[] {
    return this.#placed.slice(-count).map(({ operation }) => operation)
  }

  /** A name for the set of placed changes and the units they left. */
  get changes(): string {
    const isOther = (i: number) => changesNothing(this.#operations[i] as Operation)
    let first = this.#first
    while (first < this.#end && (this.#changed[first] === 1 || isOther(first))) first += 1
    while (this.#end > first && this.#changed[this.#end - 1] === 0) this.#end -= 1
    return `${this.remaining} ${first} ${this.#changed.toString("latin1", first, this.#end)}`
  }

  /** The operations that may come next: those that started before any other remaining one got its reply. */
  next(): Operation[] {
    const operations: Operation[] = []
    let deadline = Infinity
    for (let i = this.#first; i < this.#operations.length; i += 1) {
      const operation = this.#operations[i] as Operation
      if (operation.invokedAt > deadline) break
      if (this.#done[i] === 1) continue
      operations.push(operation)
      deadline = Math.min(deadline, operation.respondedAt)
    }
    return operations
  }

  place(operation: Operation): void {
    this.#placed.push({ operation, before: this.remaining })
    this.remaining = after(operation, this.remaining, this.#limit) as number
    this.#mark(operation, 1)
    while (this.#done[this.#first] === 1) this.#first += 1
  }

  placeWhatChangesNothing(): void {
    const fits = (operation: Operation) =>
      changesNothing(operation) && after(operation, this.remaining, this.#limit) !== undefined
    for (;;) {
      const fitting = this.next().filter(fits)
      if (fitting.length === 0) return
      for (const operation of fitting) this.place(operation)
    }
  }

  /** Removes all but the first `length`. */
  takeBack(length: number): void {
    while (this.#placed.length > length) {
      const { operation, before } = this.#placed.pop() as { operation: Operation; before: number }
      this.remaining = before
      this.#first = Math.min(this.#first, this.#mark(operation, 0))
    }
  }

  #mark(operation: Operation, done: 0 | 1): number {
    const number = this.#numbers.get(operation) as number
    this.#done[number] = done
    if (changesNothing(operation)) this.others ^= 1n << BigInt(number)
    else this.#changed[number] = done
    this.#end = Math.max(this.#end, number + 1)
    return number
  }
}

function report({ placed, last, next, remaining }: Stuck, total: number): string {
  const start = Math.min(...[...last, ...next].map(({ invokedAt }) => invokedAt))
  const line = (operation: Operation) => `  ${described(operation, start)}`
  return [
    `no order explains these answers; the longest attempt placed ${placed} of ${total} operations, last`,
    ...last.map(line),
    `which leaves ${remaining}, and one of these has to come next`,
    ...[...next].sort((a, b) => a.respondedAt - b.respondedAt).map(line),
  ].join("\n")
}

function described(operation: Operation, start: number): string {
  const micros = (at: number) => ((at - start) / 1_000).toFixed(1)
  const { kind, invokedAt, respondedAt, by } = operation
  const what = kind === "reset" ? kind : `${kind} ${operation.cost}`
  const heard =
    kind === "ask" || kind === "peek"
      ? `: ${operation.allowed ? "allowed" : "denied"}, ${operation.remaining} left`
      : ""
  const who = by === undefined ? "" : `, ${by}`
  return `${what}${heard} (${micros(invokedAt)} to ${micros(respondedAt)} µs${who})`
}
