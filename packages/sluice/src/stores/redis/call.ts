import { countingOf, suffixes, termsOf } from "../../algorithms/index.js"
import type { Answer, Ask, Part } from "../../store.js"
import { scripts } from "./scripts.generated.js"

/** One call of a script. */
export interface Call {
  readonly script: { readonly sha: string; readonly source: string }
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

/** The call of `ask.lua` that carries these asks; asks alike in all but their keys share a plan. */
export function encodeAsks(prefix: string, now: string, asks: readonly Ask[]): Call {
  const plans = new Map<string, { number: number; words: string[] }>()
  const numbers = asks.map((ask) => {
    const words = plan(ask.parts, ask.count, ask.mode)
    const text = words.join(" ")
    const known = plans.get(text) ?? { number: plans.size + 1, words }
    plans.set(text, known)
    return String(known.number)
  })
  const parts = asks.flatMap((ask) => ask.parts)
  return {
    script: scriptFor(parts),
    keys: keysOf(prefix, parts),
    args: [now, String(plans.size), ...[...plans.values()].flatMap(({ words }) => words), ...numbers],
  }
}

/** The call of `ask.lua` that gives these parts back. */
export function encodeGiveBack(prefix: string, now: string, parts: readonly Part[]): Call {
  return {
    script: scriptFor(parts),
    keys: keysOf(prefix, parts),
    args: [now, "1", ...plan(parts, 1, "give"), "1"],
  }
}

/** The call that forgets these keys under every algorithm. */
export function encodeForget(prefix: string, keys: readonly string[]): Call {
  const all = keys.flatMap((key) => suffixes.map((suffix) => `${prefix}:${key}:${suffix}`))
  return { script: scripts.forget, keys: all, args: [] }
}

/** The answers in a reply of `ask.lua`, whatever the client made of its integers. */
export function decodeAnswers(asks: readonly Ask[], reply: unknown): Answer[] {
  const numbers = Array.isArray(reply) ? reply.map(integer) : []
  let at = 0
  const answers = asks.map(({ parts }) => {
    const granted = numbers[at++] as number
    const levels = parts.map(({ policy }) => {
      const { width } = countingOf(policy).algorithm
      at += width
      return numbers.slice(at - width, at)
    })
    return { granted, levels }
  })
  if (at !== numbers.length) throw new TypeError(`expected ${at} integers from Redis, got ${String(reply)}`)
  return answers
}

/** The script of the one algorithm that all parts need, or the longer one that has them all. */
function scriptFor(parts: readonly Part[]): Call["script"] {
  const [name, ...others] = new Set(parts.map(({ policy }) => countingOf(policy).algorithm.lua))
  return others.length === 0 ? scripts[name as "bucket" | "fixedWindow" | "log"] : scripts.ask
}

function plan(parts: readonly Part[], count: number, mode: string): string[] {
  const words = [String(parts.length), String(count), mode]
  for (const { policy, cost } of parts) {
    const { algorithm } = countingOf(policy)
    const terms = termsOf(policy, cost) as Record<string, number>
    words.push(algorithm.lua)
    for (const name of algorithm.sent as readonly string[]) words.push(String(terms[name]))
  }
  return words
}

function keysOf(prefix: string, parts: readonly Part[]): string[] {
  return parts.map(({ key, policy }) => `${prefix}:${key}:${countingOf(policy).suffix}`)
}

function integer(value: unknown): number {
  const number = typeof value === "number" ? value : Number(String(value))
  if (Number.isSafeInteger(number)) return number
  throw new TypeError(`expected an integer from Redis, got ${String(value)}`)
}
