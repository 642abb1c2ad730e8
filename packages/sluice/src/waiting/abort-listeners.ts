import type { Signal } from "./terms.js"

/** What is to be done when signals are aborted: a signal has one listener, however many wait by it. */
export class AbortListeners {
  readonly #bySignal = new Map<Signal, { readonly runs: Set<() => void>; readonly listener: () => void }>()

  /** Runs something if the signal is aborted, until what it returns is called. */
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
      // who stops twice must not end the listening of those who came after
      if (!runs.delete(run) || runs.size > 0) return
      this.#bySignal.delete(signal)
      signal.removeEventListener("abort", listener)
    }
  }
}
