import type { Timers } from "../clock.js"
import { SluiceError } from "../errors.js"
import { AbortListeners } from "../waiting/abort-listeners.js"
import { QueueRoom } from "../waiting/queue-room.js"

interface Sleeper {
  wake(): void
  reject(reason: unknown): void
}

/** The calls of this process that sleep until a hold or a backoff is over. A signal has one listener for all its calls. */
export class Sleepers {
  readonly #timers: Timers
  readonly #room: QueueRoom
  readonly #limiter: string
  readonly #sleeping = new Set<Sleeper>()
  readonly #aborts = new AbortListeners()

  constructor(timers: Timers, maxSleepers: number, limiter: string) {
    this.#timers = timers
    this.#room = new QueueRoom(maxSleepers)
    this.#limiter = limiter
  }

  /** Whether a call for this key may sleep. */
  hasRoom(key: string): boolean {
    return this.#room.hasRoom(key)
  }

  /** Resolves after `ms` milliseconds. If the signal is aborted first, it rejects with the signal's reason. */
  sleep(key: string, ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) throw signal.reason
      if (!this.#room.hasRoom(key)) {
        throw new SluiceError("QUEUE_FULL", this.#room.refusal(key, this.#limiter, ms))
      }
      let stopListening = () => {}
      const end = () => {
        cancel()
        release()
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
      const release = this.#room.take(key)
      this.#sleeping.add(sleeper)
      if (signal !== undefined) stopListening = this.#aborts.add(signal, () => sleeper.reject(signal.reason))
    })
  }

  /** Rejects every sleep with a reason. */
  rejectAll(reason: unknown): void {
    for (const sleeper of [...this.#sleeping]) sleeper.reject(reason)
  }
}
