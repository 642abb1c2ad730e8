import type { Signal } from "./wait-options.js"

/** Callbacks for aborted signals. A signal gets one listener, however many callbacks wait for it. */
export class AbortListeners {
  readonly #bySignal = new Map<Signal, { readonly runs: Set<() => void>; readonly listener: () => void }>()

  /** Calls `run` when the signal is aborted. Call the returned function to stop listening. */
  add(signal: Signal, run: () => void): () => void {
    let known = this.#bySignal.get(signal)
    if (known === undefined) {
      const runs = new Set<() => void>()
      const listener = () => {
        for (const each of [...runs]) each()
      }
      known = { runs, listener }
      this.#bySignal.set(signal, known)
      signal.addEventListener("abort", listener)
    }
    const { runs, listener } = known
    runs.add(run)
    return () => {
      // A second call must not remove the listener of callbacks that were added later.
      if (!runs.delete(run) || runs.size > 0) return
      this.#bySignal.delete(signal)
      signal.removeEventListener("abort", listener)
    }
  }
}
