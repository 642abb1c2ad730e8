// Fills the core's listener slot: builds the events and hands them to everybody who listens.

import { monotonic } from "../clock.js"
import type { Decision, PolicyDecision } from "../decision.js"
import { SluiceError } from "../errors.js"
import { type Decided, type Listener, type SluiceEvent, setListener, type WaitEvent } from "../events.js"
import { reservedUnder } from "../reservation.js"
import { warn } from "../runtime.js"
import type { Settlement } from "../store.js"

/** Told of events. Only one that was added with `keys: true` is given the key that an event is about. */
export type EventHandler = (event: SluiceEvent, key?: string) => void

export interface ListenOptions {
  /** Whether the handler is given keys. Keys often contain names or addresses of people. Default: false. */
  readonly keys?: boolean | undefined
}

interface Subscriber {
  readonly handle: EventHandler
  readonly keys: boolean
}

let subscribers: readonly Subscriber[] = []
const warned = new WeakSet<EventHandler>()

/** Calls a function with every event of this process: decisions, store calls, waits and so on. Returns how to stop. */
export function listen(handle: EventHandler, { keys = false }: ListenOptions = {}): () => void {
  const subscriber = { handle, keys }
  subscribers = [...subscribers, subscriber]
  setListener(listener)
  return () => {
    subscribers = subscribers.filter((each) => each !== subscriber)
    if (subscribers.length === 0) setListener(undefined)
  }
}

/** A handler that throws does not keep callers from their answers. */
function emit(event: SluiceEvent, key?: string): void {
  for (const { handle, keys } of subscribers) {
    try {
      if (keys) handle(event, key)
      else handle(event)
    } catch (error) {
      if (warned.has(handle)) continue
      warned.add(handle)
      warn(
        `a listener for the events of Sluice threw: ${error instanceof Error ? error.stack : String(error)}`,
      )
    }
  }
}

const noCosts = [1]

function emitDecision(about: Decided, decision: Decision | undefined, error?: unknown): void {
  const { limiter, call, charged, since, wouldWait } = about
  const [first] = charged
  const code = error instanceof SluiceError ? error.code : undefined
  const duration = since === undefined ? undefined : monotonic() - since
  const costs =
    charged.length > 1 ? charged.map(({ cost }) => cost) : first?.cost === 1 ? noCosts : [first?.cost ?? 0]
  let outcome: "allowed" | "denied" | "would_wait" | "would_deny" | "error"
  if (decision === undefined) outcome = "error"
  else if (!decision.allowed) outcome = "denied"
  else if (decision.observed === undefined) outcome = "allowed"
  else outcome = wouldWait === true ? "would_wait" : "would_deny"
  emit({ type: "decision", limiter, call, outcome, decision, costs, duration, error: code }, first?.key)
  if (call === "reserve" && outcome === "allowed" && decision?.source !== "rule") {
    emit({ type: "reservation", limiter, change: "made" }, first?.key)
  }
}

/** The part of a combined decision that belongs to one limiter. */
function partOf({ limiter, charged }: Decided, decision: Decision): Decision | undefined {
  const entries: readonly PolicyDecision[] = decision.policies ?? [decision]
  const own = entries.filter(({ policy }) => charged.some(({ name }) => name === policy))
  const named = own.map((entry) => ({ ...entry, policy: entry.policy.slice(limiter.length + 1) }))
  const isTighter = (a: PolicyDecision, b: PolicyDecision) =>
    decision.allowed ? b.remaining < a.remaining : b.retryAfter > a.retryAfter
  const [first] = named
  // Of a denial, only the limiters that denied: nothing was charged in the others.
  if (first === undefined || (!decision.allowed && named.every(({ allowed }) => allowed))) return undefined
  const decisive = named.reduce((a, b) => (isTighter(a, b) ? b : a))
  return { ...decision, ...decisive, allowed: decision.allowed, policies: named }
}

const listener: Listener = {
  emit,
  decision: emitDecision,
  combined(abouts, decision) {
    for (const about of abouts) {
      const part = partOf(about, decision)
      if (part !== undefined) emitDecision(about, part)
    }
  },
  store(call, startedAt, error) {
    const code = error instanceof SluiceError ? error.code : "_OTHER"
    emit({
      type: "store",
      call,
      duration: monotonic() - startedAt,
      error: error === undefined ? error : code,
    })
  },
  wait(limiter, wait, signal) {
    const since = monotonic()
    emit({ type: "wait", limiter, change: "started" })
    const end = (result: WaitEvent["result"]) =>
      emit({ type: "wait", limiter, change: "ended", result, duration: monotonic() - since })
    wait.then(
      ({ granted }) => end(granted > 0 ? "granted" : "timeout"),
      () => end(signal?.aborted === true ? "aborted" : "error"),
    )
  },
  settled(limiter, key, id, settlement) {
    emit({ type: "reservation", limiter, change: "settled", ratio: ratioOf(id, settlement) }, key)
  },
}

/** The actual cost of a reservation divided by the estimate. */
function ratioOf(id: string, { back, more }: Settlement): number {
  const sum = (parts: Iterable<{ readonly cost: number }>) => {
    let units = 0
    for (const { cost } of parts) units += cost
    return units
  }
  return 1 + (sum(more) - sum(back)) / sum(reservedUnder(id).values())
}
