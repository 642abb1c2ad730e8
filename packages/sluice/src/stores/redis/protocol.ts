import { algorithmOf, parametersOf } from "../../algorithms/index.js"
import { wireFormats } from "../../algorithms/wire.generated.js"
import { limitOf, type Policy } from "../../policy.js"
import type { StateRef } from "../../state-key.js"
import type { Mode, PolicyRequest, Stored, StoreReply } from "../../store.js"
import type { RedisKeys } from "./keys.js"
import { UNREADABLE } from "./outcome.js"

/** A request to the Lua library: a store's request, or one of the store's other methods. */
export interface LuaRequest {
  readonly policies: readonly PolicyRequest[]
  readonly mode: Mode | "give" | "leave" | "settle" | "forget" | "inspect"
  /** How many requests, or what the mode takes instead. */
  readonly count: number | readonly number[]
  /** The key of the request's own note, and a state of the same limiter and key. */
  readonly note?: { readonly key: string; readonly stateRef: StateRef } | undefined
}

/** A request in a batch. */
export interface QueuedRequest extends LuaRequest {
  /** Whether an earlier request of the batch may have one of its keys. */
  readonly repeatsKey: boolean
}

/** One call of the library: `run.lua` describes keys and arguments. */
export interface LuaCall {
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

/** Any state that a request touches: all of them share a slot. */
export function stateOf({ policies, note }: LuaRequest): StateRef {
  return (policies[0] ?? note?.stateRef) as StateRef
}

/** Encodes a batch as one call. Requests that differ only in keys, counts and costs share a plan. */
export function encodeCall(
  names: Pick<RedisKeys, "of" | "note">,
  now: string,
  requests: readonly QueuedRequest[],
): LuaCall {
  const keys: string[] = []
  const plans: Plan[] = []
  let plan: Plan | undefined
  let number = 0
  let given = ""
  let isGiven = false
  let repeatsKey = false
  for (let i = 0; i < requests.length; i += 1) {
    const request = requests[i] as QueuedRequest
    const { policies, note, mode, count } = request
    for (let j = 0; j < policies.length; j += 1) keys.push(names.of(policies[j] as PolicyRequest))
    if (mode !== "spend" && mode !== "peek" && mode !== "charge") {
      for (const policy of policies) keys.push(names.note(policy, "fg"))
    }
    if (note !== undefined) keys.push(note.key)
    repeatsKey ||= request.repeatsKey
    if (plan === undefined || !fits(plan, request)) {
      plan = planOf(request)
      const { text } = plan
      number = plans.findIndex((known) => known.text === text) + 1
      if (number === 0) number = plans.push(plan)
    }
    // Most batches consist of equal requests of cost 1, for which there is nothing to list.
    if (!isGiven && (number > 1 || count !== 1 || !costsOne(policies))) {
      isGiven = true
      given = `1,1${",1".repeat((requests[0] as QueuedRequest).policies.length)},`.repeat(i)
    }
    if (!isGiven) continue
    given += `${number},${typeof count === "number" ? count : JSON.stringify(count)},`
    for (let j = 0; j < policies.length; j += 1) given += `${unitsOf(policies[j] as PolicyRequest)},`
  }
  const args = [now, repeatsKey ? "1" : "", isGiven ? `[${given.slice(0, -1)}]` : ""]
  for (const { text } of plans) args.push(text)
  return { keys, args }
}

/** What requests share except their keys, counts and costs. */
interface Plan {
  readonly text: string
  readonly mode: LuaRequest["mode"]
  readonly policies: readonly Policy[]
  /** Whether it holds for the costs of one request only. */
  readonly isExact: boolean
}

/** The latest plan by its first policy: the next request most often needs the same. */
const latestPlans = new WeakMap<Policy, Plan>()

function planOf(request: LuaRequest): Plan {
  const { policies, mode } = request
  const first = policies[0]?.policy
  const latest = first && latestPlans.get(first)
  if (latest !== undefined && fits(latest, request)) return latest
  const isExact = policies.some(({ policy }) => !isScalable(policy))
  const text = JSON.stringify([mode, ...policies.flatMap(encodePolicy)])
  const plan: Plan = { text, mode, policies: policies.map(({ policy }) => policy), isExact }
  if (first !== undefined && !isExact) latestPlans.set(first, plan)
  return plan
}

function fits(plan: Plan, { policies, mode }: LuaRequest): boolean {
  if (plan.isExact || mode !== plan.mode || policies.length !== plan.policies.length) return false
  for (let i = 0; i < policies.length; i += 1) {
    if ((policies[i] as PolicyRequest).policy !== plan.policies[i]) return false
  }
  return true
}

function encodePolicy({ policy, cost }: PolicyRequest): [string, object] {
  return encodedPolicy(policy, isScalable(policy) ? 1 : cost)
}

/** The cost in units of the plan. More than twice the limit has the same effect as twice the limit. */
function unitsOf({ policy, cost }: PolicyRequest): number {
  return cost === 1 ? 1 : isScalable(policy) ? Math.min(cost, 2 * limitOf(policy)) : 1
}

/** Whether Lua can multiply the cost of one unit exactly. If not, a plan is for one cost only. */
function isScalable(policy: Policy): boolean {
  return wireFormats[policy.algorithm].isScalable?.(parametersOf(policy, 1) as never) ?? true
}

function costsOne(policies: readonly PolicyRequest[]): boolean {
  for (let i = 0; i < policies.length; i += 1) if ((policies[i] as PolicyRequest).cost !== 1) return false
  return true
}

/** Decodes the reply to a call, whatever types the client maps integers to. A request that failed gets an error. */
export function decodeReply(requests: readonly LuaRequest[], reply: unknown): (StoreReply | Error)[] {
  const numbers = new Numbers(Array.isArray(reply) ? reply : [])
  const at = numbers.next()
  const replies: (StoreReply | Error)[] = []
  for (let i = 0; i < requests.length; i += 1) {
    const request = requests[i] as LuaRequest
    replies.push(numbers.error() ?? numbers.checked(decodeRequest(request, numbers, at)))
  }
  numbers.checkEnd()
  return replies
}

function decodeRequest({ policies, mode, count }: LuaRequest, numbers: Numbers, at: number): StoreReply {
  if (mode === "give" || mode === "forget" || mode === "leave" || mode === "settle") {
    return { granted: numbers.next(), levels: [], at }
  }
  const isShort = numbers.isNegative()
  const levels: number[][] = []
  for (let i = 0; i < policies.length; i += 1) {
    const { policy } = policies[i] as PolicyRequest
    levels.push(numbers.take(levelWidthOf(policy, isShort || mode === "charge")))
  }
  if (isShort) (levels[0] as number[])[0] = -1 - ((levels[0] as number[])[0] as number)
  if (mode === "book") {
    const wait = numbers.next()
    if (!isShort)
      return { granted: 1, levels, at, turn: at + wait, receipt: numbers.take(receiptWidth(policies)) }
    return wait < 0 ? { granted: 0, levels, at } : { granted: 0, levels, at, turn: at + wait }
  }
  if (mode === "inspect") {
    return { granted: isShort ? 0 : 1, levels, at, stored: decodeStored(policies, numbers) }
  }
  if (typeof count !== "number" || mode === "charge" || mode === "reserve") {
    return { granted: isShort ? 0 : 1, levels, at }
  }
  return { granted: !isShort ? count : count > 1 ? numbers.next() : 0, levels, at }
}

function decodeStored(policies: readonly PolicyRequest[], numbers: Numbers): Stored {
  const states = policies.map(({ policy }) => {
    const expiresAt = numbers.next()
    const wait = numbers.next()
    const queue = numbers.take(algorithmOf(policy).queueWidth)
    return { expiresAt, wait: wait < 0 ? Number.POSITIVE_INFINITY : wait, queue }
  })
  const gaps = numbers.next()
  const debitedAt = numbers.next()
  const expiresAt = numbers.next()
  return { states, gaps, reservation: expiresAt > 0 ? { debitedAt, expiresAt } : undefined }
}

/** The length of a booking's receipt: when it was booked, and two queue states per policy. */
function receiptWidth(policies: readonly PolicyRequest[]): number {
  return policies.reduce((sum, { policy }) => sum + 2 * algorithmOf(policy).queueWidth, 1)
}

/** Reads the flat list of a reply from front to back. */
class Numbers {
  readonly #values: readonly unknown[]
  #next = 0
  /** The first value of the current request that is no safe integer. */
  #odd: number | undefined

  constructor(values: readonly unknown[]) {
    this.#values = values
  }

  /** The error of the next request, if it failed. */
  error(): Error | undefined {
    const value = this.#values[this.#next]
    if (!Array.isArray(value)) return undefined
    this.#next += 1
    const message = String(value[0])
    // Our own Lua stumbled over the value, not Redis.
    return /^user_(script|function):/.test(message) ? unreadable(message) : new Error(message)
  }

  /** The reply if all of its numbers are integers, else an error: somebody else may have written the key. */
  checked(reply: StoreReply): StoreReply | Error {
    const odd = this.#odd
    this.#odd = undefined
    return odd === undefined ? reply : unreadable(`it makes ${odd}`)
  }

  isNegative(): boolean {
    return toNumber(this.#values[this.#next]) < 0
  }

  next(): number {
    const number = toNumber(this.#values[this.#next++])
    if (!Number.isSafeInteger(number)) this.#odd ??= number
    return number
  }

  take(count: number): number[] {
    const taken: number[] = []
    for (let i = 0; i < count; i += 1) taken.push(this.next())
    return taken
  }

  checkEnd(): void {
    if (this.#next === this.#values.length) return
    throw new TypeError(`expected ${this.#next} values from Redis, got ${this.#values.length}`)
  }
}

function toNumber(value: unknown): number {
  const number = typeof value === "number" ? value : Number(String(value))
  if (Number.isInteger(number)) return number
  throw new TypeError(`expected an integer from Redis, got ${String(value)}`)
}

function unreadable(reason: string): Error {
  return new Error(
    `${UNREADABLE} the value under this key is no state of its policy, reset the key: ${reason}`,
  )
}

/** The name of a policy's algorithm in Lua, and its parameters for a cost. */
export function encodedPolicy(policy: Policy, cost: number): [string, Readonly<Record<string, number>>] {
  const { luaName, luaParameters } = wireFormats[policy.algorithm]
  return [luaName, luaParameters(parametersOf(policy, cost) as never)]
}

const widths = new WeakMap<Policy, readonly [full: number, short: number]>()

/** How many integers the level of a policy has in a reply. `short` says that not all of the request was granted. */
function levelWidthOf(policy: Policy, short: boolean): number {
  let width = widths.get(policy)
  if (width === undefined) {
    const algorithm = algorithmOf(policy)
    const parameters = parametersOf(policy, 1)
    const view = algorithm.read(parameters, undefined, 0)
    const widthIf = (short: boolean) => algorithm.level(parameters, view, short).length
    width = [widthIf(false), widthIf(true)]
    widths.set(policy, width)
  }
  return short ? width[1] : width[0]
}

/** Microseconds that a spend under a policy takes Redis in a large batch, as estimated. */
export function workOf(policy: Policy): number {
  return wireFormats[policy.algorithm].work
}
