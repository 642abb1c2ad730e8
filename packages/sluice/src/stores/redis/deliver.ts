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

/** Answers asks with one call, and those that certainly did not run with another, while they have patience. */
export async function deliver(route: Route, batch: readonly Group[]): Promise<void> {
  let left = batch
  for (let pause = 4; left.length > 0; pause *= 2) {
    const answers = await attempt(route, left)
    const patienceLeft = ({ since }: Group) => route.patience - (performance.now() - since)
    left = left.filter((group, i) => {
      const answer = answers[i] as Answer | Error
      if (!(answer instanceof Error)) {
        group.resolve(answer)
        return false
      }
      const again = outcomeOf(answer) === "again" && patienceLeft(group) > 0
      if (!again) group.reject(storeError(answer))
      return again
    })
    if (left.length > 0) await sleep(Math.min(pause, Math.max(...left.map(patienceLeft), 1)))
  }
}

/** What became of each ask; an error that ended the call is every ask's. */
async function attempt(
  { client, encode }: Route,
  asks: readonly ScriptAsk[],
): Promise<readonly (Answer | Error)[]> {
  try {
    return decodeAnswers(asks, await evaluate(client, encode(asks)))
  } catch (thrown) {
    const said = typeof thrown === "string" ? thrown : shown(thrown)
    const error = thrown instanceof Error ? thrown : new Error(said, { cause: thrown })
    return asks.map(() => error)
  }
}

/** Sends the script's hash, and its text only to a server that does not know it; EVAL loads and runs at once. */
async function evaluate(client: RedisClient, { script, keys, args }: Call): Promise<unknown> {
  try {
    return await client.runByHash(script.sha, keys, args)
  } catch (error) {
    if (outcomeOf(error) !== "unloaded") throw error
    return client.runByText(script.source, keys, args)
  }
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
