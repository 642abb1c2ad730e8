import { termsOf } from "../../algorithms/index.js"
import { twinOf } from "../../algorithms/twin.js"
import type { SluiceError } from "../../errors.js"
import { Later } from "../../later.js"
import type { Answer, Part } from "../../store.js"
import { type ScriptAsk, type SentAsk, samePrice } from "./call.js"

/** How many equal asks become one at the most; any policy can count that far in one step. */
const MOST_EQUAL = 4_096

/** Equal asks as one ask with a count, granted in the order in which they came; itself the answer to the first. */
export class Group extends Later<Answer> implements SentAsk {
  declare readonly parts: readonly Part[]
  declare readonly mode: ScriptAsk["mode"]
  declare readonly note: ScriptAsk["note"]
  declare readonly follows: boolean
  /** How many asks it is. */
  declare size: number
  /** When the code that first had it sent let others run, by `performance.now()`. */
  declare sentAt: number
  declare private readonly each: ScriptAsk["count"]
  declare private others: Later<Answer>[] | undefined

  constructor({ parts, mode, note, count }: ScriptAsk, follows: boolean) {
    super()
    this.parts = parts
    this.mode = mode
    this.note = note
    this.each = count
    this.follows = follows
    this.size = 1
    this.sentAt = 0
    this.others = undefined
  }

  get count(): ScriptAsk["count"] {
    return this.mode === "spend" && this.each === 1 ? this.size : this.each
  }

  /** Has another ask join. */
  add(): Later<Answer> {
    const answer = new Later<Answer>()
    this.others ??= []
    this.others.push(answer)
    this.size += 1
    return answer
  }

  /** Whether an ask may join: it asks the same of the same keys, once. */
  takes({ parts, mode, count }: ScriptAsk): boolean {
    return (
      mode === this.mode &&
      (mode === "spend" || mode === "peek") &&
      count === 1 &&
      this.each === 1 &&
      this.size < MOST_EQUAL &&
      samePrice(parts, this.parts) &&
      samePlaces(parts, this.parts)
    )
  }

  /** Tells every ask its part of the answer to all of them. */
  answer(answer: Answer): void {
    const others = this.others
    if (others === undefined || this.mode === "peek") {
      this.resolve(answer)
      if (others !== undefined) for (const other of others) other.resolve(answer)
      return
    }
    this.resolve(this.answerTo(0, answer))
    for (let i = 0; i < others.length; i += 1) others[i]?.resolve(this.answerTo(i + 1, answer))
  }

  fail(error: SluiceError): void {
    this.reject(error)
    if (this.others !== undefined) for (const other of this.others) other.reject(error)
  }

  /** What one of the asks is told of the answer to all of them. */
  private answerTo(index: number, { granted, levels, at }: Answer): Answer {
    const after = granted - 1 - index
    return after < 0
      ? { granted: 0, levels, at }
      : { granted: 1, levels: this.levelsBefore(levels, after), at }
  }

  private levelsBefore(levels: Answer["levels"], times: number): Answer["levels"] {
    return this.parts.map(({ policy, cost }, i) =>
      twinOf(policy).before(termsOf(policy, cost), levels[i] as readonly number[], times),
    )
  }
}

function samePlaces(a: readonly Part[], b: readonly Part[]): boolean {
  for (let i = 0; i < a.length; i += 1) {
    const one = a[i] as Part
    const other = b[i] as Part
    if (one.key !== other.key || one.scope.id !== other.scope.id) return false
  }
  return true
}
