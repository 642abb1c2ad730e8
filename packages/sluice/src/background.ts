import { isPromise } from "./deferred.js"

/** Milliseconds that `close` waits for work in progress. */
const LONGEST_CLOSE = 2_000

/** Work that no caller waits for. Errors in it are ignored. */
export class Background {
  readonly #underWay = new Set<PromiseLike<unknown>>()

  run(work: () => unknown): void {
    try {
      const result = work()
      if (!isPromise(result)) return
      const over = () => {
        this.#underWay.delete(result)
      }
      this.#underWay.add(result)
      result.then(over, over)
    } catch {}
  }

  /** Resolves when all work is done, or after two seconds: a store that never answers must not block a shutdown. */
  async settled(): Promise<void> {
    let patience: NodeJS.Timeout | undefined
    const enough = new Promise<void>((resolve) => {
      patience = setTimeout(resolve, LONGEST_CLOSE)
    })
    const all = async () => {
      while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
    }
    await Promise.race([all(), enough])
    clearTimeout(patience)
  }
}
