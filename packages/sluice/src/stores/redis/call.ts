import { countingOf, termsOf } from "../../algorithms/index.js"
import type { Policy } from "../../policy.js"
import type { Answer, Ask, Mode } from "../../store.js"
import { scripts } from "./scripts.generated.js"

/** One call of a script. */
export interface Call {
  readonly script: { readonly sha: string; readonly source: string }
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

/** What `ask.lua` is asked: as a store is, or to give back what the parts cost, or to forget them. */
export type ScriptAsk = Omit<Ask, "mode"> & { readonly mode: Mode | "give" | "forget" }

/** The call of `ask.lua` that carries these asks; asks alike in all but their keys share a plan. */
export function encodeAsks(prefix: string, now: string, asks: readonly ScriptAsk[]): Call {
  const keys: string[] = []
  const plans = new Plans()
  const numbers = asks.map((ask) => {
    for (const { key, policy } of ask.parts) keys.push(`${prefix}:${key}:${countingOf(policy).suffix}`)
    return plans.numberOf(ask)
  })
  const args = [now, String(plans.size), ...plans.words]
  if (plans.size > 1) args.push(...numbers.map(String))
  return { script: plans.script, keys, args }
}

/** The plans of a call: what its asks have in common but for their keys. */
class Plans {
  readonly words: string[] = []
  readonly #numbers = new Map<string, number>()
  readonly #algorithms = new Set<string>()
  #last: ScriptAsk | undefined

  get size(): number {
    return this.#numbers.size
  }

  /** The script of the one algorithm that all plans need, or the longer one that has them all. */
  get script(): Call["script"] {
    const [name, ...others] = this.#algorithms
    return others.length === 0 ? scripts[name as "bucket" | "fixedWindow" | "log"] : scripts.ask
  }

  /** The number of the plan of an ask, which becomes one of the plans if it was none. */
  numberOf(ask: ScriptAsk): number {
    // asks that follow each other are most often alike
    if (this.#last !== undefined && alike(ask, this.#last)) return this.#numbers.size
    const words = [String(ask.parts.length), String(ask.count), ask.mode]
    for (const { policy, cost } of ask.parts) words.push(...partWords(policy, cost))
    const text = words.join(" ")
    const known = this.#numbers.get(text)
    if (known !== undefined) return known
    this.#numbers.set(text, this.#numbers.size + 1)
    this.words.push(...words)
    for (const { policy } of ask.parts) this.#algorithms.add(countingOf(policy).algorithm.lua)
    this.#last = ask
    return this.#numbers.size
  }
}

/** Whether two asks have the same plan, as far as a look can tell. */
function alike(a: ScriptAsk, b: ScriptAsk): boolean {
  return (
    a.count === b.count &&
    a.mode === b.mode &&
    a.parts.length === b.parts.length &&
    a.parts.every(({ policy, cost }, i) => policy === b.parts[i]?.policy && cost === b.parts[i]?.cost)
  )
}

function partWords(policy: Policy, cost: number): string[] {
  const { algorithm } = countingOf(policy)
  const terms = termsOf(policy, cost) as Record<string, number>
  return [algorithm.lua, ...(algorithm.sent as readonly string[]).map((name) => String(terms[name]))]
}

/** The answers in a reply of `ask.lua`, whatever the client made of its integers; an error for an ask that failed. */
export function decodeAnswers(asks: readonly ScriptAsk[], reply: unknown): (Answer | Error)[] {
  const values: readonly unknown[] = Array.isArray(reply) ? reply : []
  let at = 0
  const answers = asks.map(({ parts, mode }) => {
    const granted = integer(values[at++])
    if (granted < 0) return new Error(String(values[at++]))
    if (mode === "give" || mode === "forget") return { granted, levels: [] }
    const levels = parts.map(({ policy, cost }) => {
      const end = at + countingOf(policy).algorithm.width(termsOf(policy, cost))
      const level: number[] = []
      while (at < end) level.push(integer(values[at++]))
      return level
    })
    return { granted, levels }
  })
  if (at !== values.length) throw new TypeError(`expected ${at} values from Redis, got ${values.length}`)
  return answers
}

function integer(value: unknown): number {
  const number = typeof value === "number" ? value : Number(String(value))
  if (Number.isSafeInteger(number)) return number
  throw new TypeError(`expected an integer from Redis, got ${String(value)}`)
}
