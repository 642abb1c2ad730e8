import type { Timers } from "../clock.js"
import { SluiceError } from "../errors.js"
import { AbortListeners } from "../waiting/abort-listeners.js"

interface Sleeper {
  wake(): void
  reject(reason: unknown): void
}

/** Those in this process who sleep until something is over. A signal has one listener, however many sleep by it. */
export class Sleepers {
  readonly #timers: Timers
  readonly #most: number
  readonly #sleeping = new Set<Sleeper>()
  readonly #aborts = new AbortListeners()

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
      if (this.isFull)
        throw new SluiceError(
          "QUEUE_FULL",
          `${this.#most} are held back already; shed the work, or raise maxWaiters`,
        )
      let stopListening = () => {}
      const end = () => {
        cancel()
        this.#sleeping.delete(sleeper)
        stopListening()
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
      if (signal !== undefined) stopListening = this.#aborts.add(signal, () => sleeper.reject(signal.reason))
    })
  }

  /** Ends every sleep with a reason. */
  rouse(reason: unknown): void {
    for (const sleeper of [...this.#sleeping]) sleeper.reject(reason)
  }
}
