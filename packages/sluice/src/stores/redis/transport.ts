import { SluiceError, shown } from "../../errors.js"
import { listener } from "../../events.js"
import { unref } from "../../runtime.js"
import type { StoreReply } from "../../store.js"
import type { Coalesced } from "./batcher.js"
import type { RedisClient } from "./client.js"
import { library, libraryScript, readOnlyName, type Script } from "./library.js"
import { codeOf, isOffline, outcomeOf, UNREADABLE } from "./outcome.js"
import { decodeReply, type LuaCall, type QueuedRequest } from "./protocol.js"

/** Where batches go, how they are encoded, and for how many milliseconds a call that did not run is retried. */
export interface Route {
  readonly delivery: Delivery
  readonly retryFor: number
  encode(requests: readonly QueuedRequest[]): LuaCall
}

/** Milliseconds until the first retry. Each further pause is twice as long. */
const FIRST_PAUSE = 4

/** Sends a batch as one call and resolves its requests. Requests that did not run are retried. `done` runs after the last one. */
export function sendBatch(
  route: Route,
  batch: readonly Coalesced[],
  done: () => void,
  pause: number = FIRST_PAUSE,
): void {
  const startedAt = listener === undefined ? 0 : performance.now()
  const settle = (replies: readonly (StoreReply | Error)[]) => {
    if (listener !== undefined) tellBatch(batch, startedAt, replies)
    let left: readonly Coalesced[] = []
    try {
      left = settleBatch(route, batch, replies)
    } finally {
      // Even if a listener throws, the next call does not wait for this one.
      if (left.length === 0) done()
    }
    if (left.length > 0) listener?.emit({ type: "retry", requests: requestsIn(left) })
    if (left.length > 0) retry(route, left, replies.some(isCrossSlot), pause).then(done, done)
  }
  const judge = (replies: readonly (StoreReply | Error)[]) => {
    if (replies.some(isRefusedWrite)) decideWithoutWriting(route, batch, replies).then(settle)
    else settle(replies)
  }
  const fail = (thrown: unknown) => judge(new Array(batch.length).fill(toError(thrown)))
  const decode = (reply: unknown) => {
    let replies: readonly (StoreReply | Error)[]
    try {
      replies = decodeReply(batch, reply)
    } catch (error) {
      fail(error)
      return
    }
    judge(replies)
  }
  try {
    const { delivery } = route
    const call = route.encode(batch)
    const sent = batch.every(isRead) ? delivery.runReadOnly(call) : delivery.run(call)
    sent.then(decode, fail)
  } catch (error) {
    fail(error)
  }
}

/** Whether a request writes nothing. A replica answers it too. */
function isRead({ mode }: QueuedRequest): boolean {
  return mode === "peek" || mode === "inspect"
}

function requestsIn(batch: readonly Coalesced[]): number {
  return batch.reduce((sum, { size }) => sum + size, 0)
}

function tellBatch(batch: readonly Coalesced[], startedAt: number, replies: readonly unknown[]): void {
  listener?.emit({
    type: "batch",
    requests: requestsIn(batch),
    sent: batch.length,
    duration: startedAt === 0 ? 0 : performance.now() - startedAt,
    failed: replies.every((reply) => reply instanceof Error),
  })
}

/** Redis refuses to run a writing function in these states, although a denial writes nothing. */
const REFUSED_WRITES: readonly string[] = ["OOM", "MISCONF", "NOREPLICAS"]

function isRefusedWrite(reply: StoreReply | Error): boolean {
  return reply instanceof Error && REFUSED_WRITES.includes(codeOf(String(reply.message)))
}

/** What a peek can deny. */
const DENIABLE: readonly string[] = ["spend", "peek", "reserve", "book"]

/** Repeats refused requests as peeks while Redis accepts no writes. A denial stands, without a turn; a grant gets the error. */
async function decideWithoutWriting(
  { delivery, encode }: Route,
  batch: readonly Coalesced[],
  refused: readonly (StoreReply | Error)[],
): Promise<(StoreReply | Error)[]> {
  const replies = [...refused]
  const peeks = batch.flatMap((request, i): { i: number; request: QueuedRequest }[] => {
    const { policies, mode } = request
    if (!isRefusedWrite(replies[i] as StoreReply | Error)) return []
    if (mode === "inspect") return [{ i, request }]
    if (!DENIABLE.includes(mode)) return []
    return [{ i, request: { policies, mode: "peek", count: 1, repeatsKey: false } }]
  })
  if (peeks.length === 0) return replies
  try {
    const requests = peeks.map(({ request }) => request)
    const decided = decodeReply(requests, await delivery.runReadOnly(encode(requests)))
    for (const [j, { i }] of peeks.entries()) {
      const reply = decided[j] as StoreReply | Error
      if (!(reply instanceof Error) && (isRead(batch[i] as Coalesced) || reply.granted === 0))
        replies[i] = reply
    }
  } catch {
    // The first error says what is wrong.
  }
  return replies
}

async function retry(
  route: Route,
  left: readonly Coalesced[],
  crossesSlots: boolean,
  pause: number,
): Promise<void> {
  const again = (batch: readonly Coalesced[], nextPause: number) =>
    new Promise<void>((done) => sendBatch(route, batch, done, nextPause))
  if (crossesSlots && left.length > 1) {
    // A slot that is being moved only answers calls with one key.
    await Promise.all(left.map((request) => again([request], FIRST_PAUSE)))
    return
  }
  const longest = Math.max(...left.map((request) => timeLeft(route, request)), 1)
  await sleep(Math.min(pause, longest))
  await again(left, pause * 2)
}

/** Resolves or rejects the requests of a batch. Returns those to retry. */
function settleBatch(
  route: Route,
  batch: readonly Coalesced[],
  replies: readonly (StoreReply | Error)[],
): Coalesced[] {
  const left: Coalesced[] = []
  for (let i = 0; i < batch.length; i += 1) {
    const request = batch[i] as Coalesced
    const reply = replies[i] as StoreReply | Error
    if (!(reply instanceof Error)) request.answer(reply)
    else if (outcomeOf(reply) === "again" && timeLeft(route, request) > 0) left.push(request)
    else request.fail(storeError(reply))
  }
  return left
}

function timeLeft({ retryFor }: Route, { sentAt }: Coalesced): number {
  return retryFor - (performance.now() - sentAt)
}

function isCrossSlot(reply: StoreReply | Error): boolean {
  return reply instanceof Error && codeOf(reply.message) === "TRYAGAIN"
}

/** Anything that a client rejects with, as an error. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown
  return new Error(typeof thrown === "string" ? thrown : shown(thrown), { cause: thrown })
}

/** The error for the caller. Its code says whether the call may have run. */
export function storeError(cause: Error): SluiceError {
  if (cause instanceof SluiceError) return cause
  const said = String(cause.message)
  if (codeOf(said) === UNREADABLE) {
    return new SluiceError("STORE_UNKNOWN", `this key cannot be counted: ${said}`, { cause })
  }
  if (outcomeOf(cause) === "unknown") {
    const message = `no answer from Redis; the call may have run, do not repeat it: ${said}`
    return new SluiceError("STORE_UNKNOWN", message, { cause })
  }
  const why = isOffline(said) ? 'the client has no connection, its "error" events say why: ' : ""
  const message = `Redis did not run the call, it is safe to retry: ${why}${said}`
  return new SluiceError("STORE_REFUSED", message, { cause })
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => unref(setTimeout(resolve, ms)))
}

/** Milliseconds until functions are tried again after the server refused them. */
const PROBE_PAUSE = 30_000

/** Runs a script by its hash, and by its text on a server that does not know it. */
export async function runScript(
  client: RedisClient,
  script: Script,
  { keys, args }: LuaCall,
): Promise<unknown> {
  try {
    return await client.run("EVALSHA", script.sha, keys, args)
  } catch (error) {
    if (outcomeOf(error) !== "unloaded") throw error
    return client.run("EVAL", script.text, keys, args)
  }
}

/** How the library reaches the server: as a function, and as a script where there are no functions. */
export interface Delivery {
  run(call: LuaCall): Promise<unknown>
  /** Runs a call that writes nothing, also on a replica and when memory is full. */
  runReadOnly(call: LuaCall): Promise<unknown>
}

export function deliveryBy(client: RedisClient, mode: "function" | "script"): Delivery {
  /** Until when calls go by script, by `performance.now()`. 0 for never. */
  let scriptUntil = mode === "script" || client.load === undefined ? Number.POSITIVE_INFINITY : 0

  const useScripts = () => {
    scriptUntil = performance.now() + PROBE_PAUSE
  }

  /** Loads the library in the background. Calls go by script until that is done, or for a while if it never ends. */
  const load = () => {
    useScripts()
    const loaded = () => {
      scriptUntil = 0
    }
    const failed = (error: unknown) => {
      if (String((error as Error)?.message).includes("already exists")) loaded()
      else useScripts()
    }
    client.load?.(library.text).then(loaded, failed)
  }

  const byScript = (call: LuaCall) => runScript(client, libraryScript, call)

  const byFunction = (name: string, call: LuaCall) =>
    client.run("FCALL", name, call.keys, call.args).catch((error: unknown) => {
      const outcome = outcomeOf(error)
      // Neither has run. EVAL reaches the node of these keys, whichever node lacks the function.
      if (outcome === "unloaded") {
        if (scriptUntil === 0) load()
        return client.run("EVAL", libraryScript.text, call.keys, call.args)
      }
      if (outcome !== "no functions") throw error
      useScripts()
      return byScript(call)
    })

  const run = (name: string, call: LuaCall) => {
    if (scriptUntil > 0) {
      if (performance.now() < scriptUntil) return byScript(call)
      scriptUntil = 0
    }
    return byFunction(name, call)
  }

  return { run: (call) => run(library.name, call), runReadOnly: (call) => run(readOnlyName, call) }
}
