import { SluiceError, shown } from "../../errors.js"
import type { Answer } from "../../store.js"
import { type Call, decodeAnswers, type ScriptAsk } from "./call.js"
import type { RedisClient } from "./client.js"
import type { Group } from "./group.js"
import { outcomeOf } from "./outcome.js"

/** Where calls go, how they are written, and for how many milliseconds one that did not run is tried again. */
export interface Route {
  readonly client: RedisClient
  readonly patience: number
  encode(asks: readonly ScriptAsk[]): Call
}

/** Answers groups with one call, and those that certainly did not run with another, while they have patience. */
export async function deliver(route: Route, batch: readonly Group[]): Promise<void> {
  let left = batch
  for (let pause = 4; left.length > 0; pause *= 2) {
    let answers: readonly (Answer | Error)[]
    try {
      const call = route.encode(left)
      const { script, keys, args } = call
      const reply = await route.client.runByHash(script.sha, keys, args).catch(sendTextIfUnknown(route, call))
      answers = decodeAnswers(left, reply)
    } catch (thrown) {
      // what ended the call is everybody's
      const error = thrown instanceof Error ? thrown : new Error(textOf(thrown), { cause: thrown })
      answers = left.map(() => error)
    }
    left = settle(route, left, answers)
    if (left.length > 1 && answers.some(isOfManyKeys)) {
      // a slot that is moving answers calls of one key only
      await Promise.all(left.map((group) => deliver(route, [group])))
      return
    }
    if (left.length > 0) {
      const longest = Math.max(...left.map((group) => patienceLeft(route, group)), 1)
      await sleep(Math.min(pause, longest))
    }
  }
}

/** Sends a script's text to a server that does not know its hash; EVAL loads and runs at once. */
function sendTextIfUnknown(
  { client }: Route,
  { script, keys, args }: Call,
): (error: unknown) => Promise<unknown> {
  return (error) => {
    if (outcomeOf(error) !== "unloaded") throw error
    return client.runByText(script.source, keys, args)
  }
}

/** Hands answers and errors to those who wait for them; what is left to be tried again. */
function settle(route: Route, batch: readonly Group[], answers: readonly (Answer | Error)[]): Group[] {
  return batch.filter((group, i) => {
    const answer = answers[i] as Answer | Error
    if (!(answer instanceof Error)) {
      group.resolve(answer)
      return false
    }
    const again = outcomeOf(answer) === "again" && patienceLeft(route, group) > 0
    if (!again) group.reject(storeError(answer))
    return again
  })
}

function patienceLeft({ patience }: Route, { sentAt }: Group): number {
  return patience - (performance.now() - sentAt)
}

function isOfManyKeys(answer: Answer | Error): boolean {
  return answer instanceof Error && answer.message.startsWith("TRYAGAIN")
}

function textOf(thrown: unknown): string {
  return typeof thrown === "string" ? thrown : shown(thrown)
}

function storeError(cause: Error): SluiceError {
  if (cause instanceof SluiceError) return cause
  return outcomeOf(cause) === "unknown"
    ? new SluiceError("STORE_UNKNOWN", `no answer from Redis; the call may have run: ${cause.message}`, {
        cause,
      })
    : new SluiceError("STORE_REFUSED", `Redis did not run the call: ${cause.message}`, { cause })
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
