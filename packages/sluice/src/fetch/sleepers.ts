import type { Timers } from "../clock.js"
import { SluiceError } from "../errors.js"

interface Sleeper {
  wake(): void
  reject(reason: unknown): void
}

/** Those in this process who sleep until something is over. A signal has one listener, however many sleep by it. */
export class Sleepers {
  readonly #timers: Timers
  readonly #most: number
  readonly #sleeping = new Set<Sleeper>()
  readonly #bySignal = new Map<
    AbortSignal,
    { readonly sleepers: Set<Sleeper>; readonly listener: () => void }
  >()

  constructor(timers: Timers, most: number) {
    this.#timers = timers
    this.#most = most
  }

  get isFull(): boolean {
    return this.#sleeping.size >= this.#most
  }

  /** Resolves after that long; rejects with the reason of the signal if that is aborted first. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) throw signal.reason
      if (this.isFull) throw new SluiceError("QUEUE_FULL", `${this.#most} are held back already: maxWaiters`)
      const end = () => {
        cancel()
        this.#sleeping.delete(sleeper)
        if (signal !== undefined) this.#stopListening(signal, sleeper)
      }
      const sleeper: Sleeper = {
        wake() {
          end()
          resolve()
        },
        reject(reason) {
          end()
          reject(reason)
        },
      }
      const cancel = this.#timers.after(ms, sleeper.wake)
      this.#sleeping.add(sleeper)
      if (signal !== undefined) this.#listen(signal, sleeper)
    })
  }

  /** Ends every sleep with a reason. */
  rouse(reason: unknown): void {
    for (const sleeper of [...this.#sleeping]) sleeper.reject(reason)
  }

  #listen(signal: AbortSignal, sleeper: Sleeper): void {
    let known = this.#bySignal.get(signal)
    if (known === undefined) {
      const sleepers = new Set<Sleeper>()
      const listener = () => {
        for (const each of [...sleepers]) each.reject(signal.reason)
      }
      known = { sleepers, listener }
      this.#bySignal.set(signal, known)
      signal.addEventListener("abort", listener, { once: true })
    }
    known.sleepers.add(sleeper)
  }

  #stopListening(signal: AbortSignal, sleeper: Sleeper): void {
    const known = this.#bySignal.get(signal)
    known?.sleepers.delete(sleeper)
    if (known === undefined || known.sleepers.size > 0) return
    this.#bySignal.delete(signal)
    signal.removeEventListener("abort", known.listener)
  }
}
