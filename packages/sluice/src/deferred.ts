/** `microtask.then(run)` is a faster queueMicrotask. */
export const microtask = Promise.resolve()

/** Receives the outcome of a Deferred. */
export interface Listener<T> {
  onValue(value: T): void
  onError(error: unknown): void
}

/**
 * A promise for use between layers. It calls its listeners at once, not in a later microtask, and costs a fraction of a promise.
 * An error without listeners is dropped.
 *
 * Fields are declared `private` and set by the constructor, here and in subclasses. Every request makes several of these
 * objects, and V8 takes longer to make them with `#names` or with field initialisers.
 */
export class Deferred<T> implements PromiseLike<T> {
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

  /** Adds a listener. It must not throw. */
  tell(listener: Listener<T>): void {
    if (this.settled !== undefined) tellOutcome(listener, this.settled, this.outcome)
    else if (this.listening === undefined) this.listening = listener
    else if (Array.isArray(this.listening)) this.listening.push(listener)
    else this.listening = [this.listening, listener]
  }

  then<A = T, B = never>(
    onValue?: ((value: T) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Deferred<A | B> {
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
    // A settled Deferred keeps nothing alive.
    this.listening = undefined
    if (Array.isArray(listening)) for (const listener of listening) tellOutcome(listener, settled, outcome)
    else tellOutcome(listening, settled, outcome)
  }
}

/** The result of `then`. */
class Next<T, N> extends Deferred<N> implements Listener<T> {
  declare private readonly handleValue: ((value: T) => N | PromiseLike<N>) | null | undefined
  declare private readonly handleError: ((error: unknown) => N | PromiseLike<N>) | null | undefined

  constructor(
    onValue: ((value: T) => N | PromiseLike<N>) | null | undefined,
    onError: ((error: unknown) => N | PromiseLike<N>) | null | undefined,
  ) {
    super()
    this.handleValue = onValue
    this.handleError = onError
  }

  onValue(value: T): void {
    if (typeof this.handleValue === "function") this.become(this.handleValue, value)
    else this.resolve(value as never)
  }

  onError(error: unknown): void {
    if (typeof this.handleError === "function") this.become(this.handleError, error)
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
  if (settled === "kept") listener.onValue(outcome as never)
  else listener.onError(outcome)
}

/** Whether a value is a promise or another thenable. */
export function isPromise<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T>)?.then === "function"
}

/** Adds a listener to a promise of any kind. */
export function subscribe<T>(promise: PromiseLike<T>, listener: Listener<T>): void {
  if (promise instanceof Deferred) promise.tell(listener)
  else
    promise.then(
      (value) => listener.onValue(value),
      (error: unknown) => listener.onError(error),
    )
}

/**
 * A native promise of `make(value)`, or of `rescue(error)`. It settles together with `promise`, without another microtask.
 */
export function promised<T, R>(
  promise: PromiseLike<T>,
  make: (value: T) => R,
  rescue: (error: unknown) => R = rethrow,
): Promise<R> {
  return new Promise((resolve, reject) => {
    const by =
      <O>(handle: (outcome: O) => R) =>
      (outcome: O) => {
        try {
          resolve(handle(outcome))
        } catch (error) {
          reject(error)
        }
      }
    subscribe(promise, { onValue: by(make), onError: by(rescue) })
  })
}

function rethrow(error: unknown): never {
  throw error
}
