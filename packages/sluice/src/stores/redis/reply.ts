import { integers } from "../../algorithm.js"
import { countingOf, termsOf } from "../../algorithms/index.js"
import { twinOf } from "../../algorithms/twin.js"
import type { Answer, Part } from "../../store.js"
import type { ScriptAsk } from "./call.js"
import { UNREADABLE } from "./outcome.js"

const none: number[] = []

/** The answers in a reply of `ask.lua`, whatever the client made of its integers; an error for an ask that failed. */
export function decodeAnswers(asks: readonly ScriptAsk[], reply: unknown): (Answer | Error)[] {
  const values = new Values(Array.isArray(reply) ? reply : [])
  const at = values.integer()
  const answers: (Answer | Error)[] = []
  for (let i = 0; i < asks.length; i += 1) {
    answers.push(values.error() ?? values.whole(decodeAnswer(asks[i] as ScriptAsk, values, at)))
  }
  values.checkEnd()
  return answers
}

function decodeAnswer({ parts, mode, count }: ScriptAsk, values: Values, at: number): Answer {
  if (mode === "give" || mode === "forget" || mode === "leave" || mode === "settle") {
    return { granted: values.integer(), levels: [], at }
  }
  const short = values.isNegative()
  // most often one, for which no list with gaps is made first
  const levels: number[][] = parts.length === 1 ? [none] : new Array(parts.length)
  for (let i = 0; i < parts.length; i += 1) {
    const { policy, cost } = parts[i] as Part
    const width = twinOf(policy).width(termsOf(policy, cost), short || mode === "charge")
    levels[i] = values.integers(width)
  }
  if (short) (levels[0] as number[])[0] = -1 - ((levels[0] as number[])[0] as number)
  if (mode === "book") {
    const wait = values.integer()
    if (!short) return { granted: 1, levels, at, turn: at + wait, marks: values.integers(marksOf(parts)) }
    return wait < 0 ? { granted: 0, levels, at } : { granted: 0, levels, at, turn: at + wait }
  }
  if (typeof count !== "number" || mode === "charge" || mode === "reserve") {
    return { granted: short ? 0 : 1, levels, at }
  }
  return { granted: !short ? count : count > 1 ? values.integer() : 0, levels, at }
}

/** How many integers the marks of a turn are: when it was booked, and two lines for each part. */
function marksOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { policy }) => sum + 2 * countingOf(policy).algorithm.lineWidth, 1)
}

/** The values of a reply, one after the other. */
class Values {
  readonly #values: readonly unknown[]
  #next = 0
  /** What was read of the answer at hand and is no integer that can be told from the next. */
  #odd: number | undefined

  constructor(values: readonly unknown[]) {
    this.#values = values
  }

  /** What went wrong with the ask whose answer would be next. */
  error(): Error | undefined {
    const value = this.#values[this.#next]
    if (!Array.isArray(value)) return undefined
    this.#next += 1
    const said = String(value[0])
    // what a script has stumbled over itself, and not Redis
    return said.startsWith("user_script:") ? unreadable(said) : new Error(said)
  }

  /** An answer, if all of its integers were such: what is stored under one key may be anything, and others are asked too. */
  whole(answer: Answer): Answer | Error {
    const odd = this.#odd
    this.#odd = undefined
    return odd === undefined ? answer : unreadable(`it makes ${odd}`)
  }

  isNegative(): boolean {
    return numberOf(this.#values[this.#next]) < 0
  }

  integer(): number {
    const number = numberOf(this.#values[this.#next++])
    if (!Number.isSafeInteger(number)) this.#odd ??= number
    return number
  }

  integers(count: number): number[] {
    // an array that grows takes several times the memory, and there is one for every ask
    const taken = integers(count)
    for (let i = 0; i < count; i += 1) taken[i] = this.integer()
    return taken
  }

  checkEnd(): void {
    if (this.#next === this.#values.length) return
    throw new TypeError(`expected ${this.#next} values from Redis, got ${this.#values.length}`)
  }
}

function numberOf(value: unknown): number {
  const number = typeof value === "number" ? value : Number(String(value))
  if (Number.isInteger(number)) return number
  throw new TypeError(`expected an integer from Redis, got ${String(value)}`)
}

function unreadable(why: string): Error {
  return new Error(`${UNREADABLE} what is stored under this key is no state of its policy, reset it: ${why}`)
}
