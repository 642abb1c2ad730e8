import { isPromise } from "./later.js"

/** Milliseconds that somebody who closes waits for what is under way. */
const LONGEST_CLOSE = 2_000

/** Work that no caller waits for: what fails in it has no consequence but that it was not done. */
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

  /** Resolves when all of it is done, or has taken too long: a store that never answers holds nobody up. */
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
