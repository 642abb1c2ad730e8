import { countingOf, termsOf } from "../../algorithms/index.js"
import type { SluiceError } from "../../errors.js"
import type { Answer, Part } from "../../store.js"
import { type ScriptAsk, samePrice } from "./call.js"

/** Who waits for the answer to an ask. */
export interface Caller {
  resolve(answer: Answer): void
  reject(error: SluiceError): void
}

/** How many equal asks become one at the most; any policy can count that far in one step. */
const MOST_EQUAL = 4_096

/** Equal asks as one ask with a count, granted in the order in which they came. */
export class Group implements ScriptAsk {
  readonly parts: readonly Part[]
  readonly mode: ScriptAsk["mode"]
  readonly note: ScriptAsk["note"]
  readonly callers: Caller[]
  /** When it was first sent, by `performance.now()`. */
  sentAt = 0
  readonly #count: ScriptAsk["count"]

  constructor(ask: ScriptAsk, caller: Caller) {
    this.parts = ask.parts
    this.mode = ask.mode
    this.note = ask.note
    this.#count = ask.count
    this.callers = [caller]
  }

  get count(): ScriptAsk["count"] {
    return this.mode === "spend" && this.#count === 1 ? this.callers.length : this.#count
  }

  /** Whether an ask may join: it asks the same of the same keys, once. */
  takes({ parts, mode, count }: ScriptAsk): boolean {
    return (
      mode === this.mode &&
      (mode === "spend" || mode === "peek") &&
      count === 1 &&
      this.#count === 1 &&
      this.callers.length < MOST_EQUAL &&
      samePrice(parts, this.parts) &&
      samePlaces(parts, this.parts)
    )
  }

  resolve(answer: Answer): void {
    const { callers } = this
    if (callers.length === 1 || this.mode === "peek") {
      for (const caller of callers) caller.resolve(answer)
      return
    }
    const { granted, levels, at } = answer
    for (let i = 0; i < callers.length; i += 1) {
      const left = granted - 1 - i
      const own = left < 0 ? levels : this.#levelsBefore(levels, left)
      callers[i]?.resolve({ granted: left < 0 ? 0 : 1, levels: own, at })
    }
  }

  reject(error: SluiceError): void {
    for (const caller of this.callers) caller.reject(error)
  }

  #levelsBefore(levels: Answer["levels"], times: number): Answer["levels"] {
    return this.parts.map(({ policy, cost }, i) =>
      countingOf(policy).algorithm.before(termsOf(policy, cost), levels[i] as readonly number[], times),
    )
  }
}

function samePlaces(a: readonly Part[], b: readonly Part[]): boolean {
  for (let i = 0; i < a.length; i += 1) {
    const [one, other] = [a[i] as Part, b[i] as Part]
    if (one.key !== other.key || one.scope.id !== other.scope.id) return false
  }
  return true
}
