/** What is put behind it runs when the code at hand lets others run; sooner made than by queueMicrotask. */
export const soon = Promise.resolve()

/** Who waits for something and is told what became of it. */
export interface Listener<T> {
  told(value: T): void
  failed(error: unknown): void
}

/**
 * A value that is not there yet, for use between layers: who waits for it is told in the same moment, not a turn of
 * the microtask queue later, and it takes a fraction of what a promise takes. An error that nobody waits for is dropped.
 *
 * Here and in what extends it fields are `private` and only declared, set once by the constructor: there are several of these
 * for every ask, and V8 takes longer to make them with `#names`, or with fields that are defined first.
 */
export class Later<T> implements PromiseLike<T> {
  declare private settled: "kept" | "broken" | undefined
  declare private outcome: unknown
  /** Most often one. */
  declare private listening: Listener<T> | Listener<T>[] | undefined

  constructor() {
    this.settled = undefined
    this.outcome = undefined
    this.listening = undefined
  }

  /** Only the first outcome counts. */
  resolve(value: T): void {
    this.settle("kept", value)
  }

  reject(error: unknown): void {
    this.settle("broken", error)
  }

  /** Has somebody told who does not throw. */
  tell(listener: Listener<T>): void {
    if (this.settled !== undefined) tellOutcome(listener, this.settled, this.outcome)
    else if (this.listening === undefined) this.listening = listener
    else if (Array.isArray(this.listening)) this.listening.push(listener)
    else this.listening = [this.listening, listener]
  }

  then<A = T, B = never>(
    onValue?: ((value: T) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Later<A | B> {
    const next = new Next<T, A | B>(onValue, onError)
    this.tell(next)
    return next
  }

  private settle(settled: "kept" | "broken", outcome: unknown): void {
    if (this.settled !== undefined) return
    this.settled = settled
    this.outcome = outcome
    const listening = this.listening
    if (listening === undefined) return
    // what is over keeps nothing alive
    this.listening = undefined
    if (Array.isArray(listening)) for (const listener of listening) tellOutcome(listener, settled, outcome)
    else tellOutcome(listening, settled, outcome)
  }
}

/** What is made of another value. */
class Next<T, N> extends Later<N> implements Listener<T> {
  declare private readonly onValue: ((value: T) => N | PromiseLike<N>) | null | undefined
  declare private readonly onError: ((error: unknown) => N | PromiseLike<N>) | null | undefined

  constructor(
    onValue: ((value: T) => N | PromiseLike<N>) | null | undefined,
    onError: ((error: unknown) => N | PromiseLike<N>) | null | undefined,
  ) {
    super()
    this.onValue = onValue
    this.onError = onError
  }

  told(value: T): void {
    if (typeof this.onValue === "function") this.become(this.onValue, value)
    else this.resolve(value as never)
  }

  failed(error: unknown): void {
    if (typeof this.onError === "function") this.become(this.onError, error)
    else this.reject(error)
  }

  private become<O>(handle: (outcome: O) => N | PromiseLike<N>, outcome: O): void {
    try {
      const result = handle(outcome)
      if (isPromise(result)) {
        result.then(
          (value) => this.resolve(value),
          (error: unknown) => this.reject(error),
        )
      } else this.resolve(result)
    } catch (error) {
      this.reject(error)
    }
  }
}

function tellOutcome(listener: Listener<never>, settled: "kept" | "broken", outcome: unknown): void {
  if (settled === "kept") listener.told(outcome as never)
  else listener.failed(outcome)
}

/** Whether a value is one that is to be waited for. */
export function isPromise<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T>)?.then === "function"
}

/** Has somebody told what becomes of a promise of any kind. */
export function tell<T>(promise: PromiseLike<T>, listener: Listener<T>): void {
  if (promise instanceof Later) promise.tell(listener)
  else
    promise.then(
      (value) => listener.told(value),
      (error: unknown) => listener.failed(error),
    )
}
