import { countingOf, termsOf } from "../../algorithms/index.js"
import type { Policy } from "../../policy.js"
import type { Answer, Mode, Part } from "../../store.js"
import { scripts } from "./scripts.generated.js"

/** One call of a script. */
export interface Call {
  readonly script: { readonly sha: string; readonly source: string }
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

/** What `ask.lua` is asked: as a store is, or to give back what the parts cost, or to forget them. */
export interface ScriptAsk {
  readonly parts: readonly Part[]
  readonly mode: Mode | "give" | "forget"
  /** How many asks, or of a give-back the moment of its debit, -1 for none. */
  readonly count: number
}

/** The call of `ask.lua` that carries these asks; asks alike in all but their keys share a plan. */
export function encodeAsks(keyOf: (part: Part) => string, now: string, asks: readonly ScriptAsk[]): Call {
  const keys: string[] = []
  const numbers: number[] = []
  const plans = new Plans()
  for (const ask of asks) {
    for (const part of ask.parts) keys.push(keyOf(part))
    numbers.push(plans.numberOf(ask))
  }
  const args = [now, plans.text]
  if (plans.several) args.push(`[${numbers.join()}]`)
  return { script: plans.script, keys, args }
}

/** The plans of a call: what its asks have in common but for their keys. */
class Plans {
  readonly #numbers = new Map<string, number>()
  readonly #algorithms = new Set<string>()
  #last: ScriptAsk | undefined
  #lastNumber = 0

  get text(): string {
    return `[${[...this.#numbers.keys()].join()}]`
  }

  get several(): boolean {
    return this.#numbers.size > 1
  }

  /** The script of the one algorithm that all plans need, or the longer one that has them all. */
  get script(): Call["script"] {
    const [name, ...others] = this.#algorithms
    return others.length === 0 ? scripts[name as "bucket" | "fixedWindow" | "log"] : scripts.ask
  }

  /** The number of the plan of an ask, which becomes one of the plans if it was none. */
  numberOf(ask: ScriptAsk): number {
    // asks that follow each other are most often alike
    if (this.#last !== undefined && samePlan(ask, this.#last)) return this.#lastNumber
    const text = `["${ask.mode}",${ask.count}${ask.parts.map(partText).join("")}]`
    let number = this.#numbers.get(text)
    if (number === undefined) {
      number = this.#numbers.size + 1
      this.#numbers.set(text, number)
      for (const { policy } of ask.parts) this.#algorithms.add(countingOf(policy).algorithm.lua)
    }
    this.#last = ask
    this.#lastNumber = number
    return number
  }
}

/** Whether two asks have the same plan, as far as a look can tell. */
function samePlan(a: ScriptAsk, b: ScriptAsk): boolean {
  return a.count === b.count && a.mode === b.mode && samePrice(a.parts, b.parts)
}

/** Whether parts have the same policies and costs, in order. */
export function samePrice(a: readonly Part[], b: readonly Part[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i += 1) {
    const [one, other] = [a[i] as Part, b[i] as Part]
    if (one.policy !== other.policy || one.cost !== other.cost) return false
  }
  return true
}

const textsForOne = new WeakMap<Policy, string>()

function partText({ policy, cost }: Part): string {
  const known = cost === 1 ? textsForOne.get(policy) : undefined
  if (known !== undefined) return known
  const { algorithm } = countingOf(policy)
  const text = `,"${algorithm.lua}",${JSON.stringify(algorithm.sent(termsOf(policy, cost)))}`
  if (cost === 1) textsForOne.set(policy, text)
  return text
}

/** The answers in a reply of `ask.lua`, whatever the client made of its integers; an error for an ask that failed. */
export function decodeAnswers(asks: readonly ScriptAsk[], reply: unknown): (Answer | Error)[] {
  const values: readonly unknown[] = Array.isArray(reply) ? reply : []
  const at = integer(values[0])
  let next = 1
  const answers = asks.map(({ parts, mode, count }) => {
    const first = values[next]
    if (Array.isArray(first)) {
      next += 1
      return new Error(String(first[0]))
    }
    if (mode === "give" || mode === "forget") return { granted: integer(values[next++]), levels: [], at }
    const short = integer(first) < 0
    const levels: number[][] = new Array(parts.length)
    for (let i = 0; i < parts.length; i += 1) {
      const { policy, cost } = parts[i] as Part
      const width = countingOf(policy).algorithm.width(termsOf(policy, cost), short)
      levels[i] = integers(values, next, width)
      next += width
    }
    if (short) (levels[0] as number[])[0] = -1 - integer(first)
    const granted = !short ? count : count > 1 ? integer(values[next++]) : 0
    return { granted, levels, at }
  })
  if (next !== values.length) throw new TypeError(`expected ${next} values from Redis, got ${values.length}`)
  return answers
}

function integers(values: readonly unknown[], from: number, count: number): number[] {
  // an array that grows takes several times the memory, and there is one for every ask
  const taken: number[] = new Array(count)
  for (let i = 0; i < count; i += 1) taken[i] = integer(values[from + i])
  return taken
}

function integer(value: unknown): number {
  const number = typeof value === "number" ? value : Number(String(value))
  if (Number.isSafeInteger(number)) return number
  throw new TypeError(`expected an integer from Redis, got ${String(value)}`)
}
