import { SluiceError } from "../../errors.js"
import type { Call } from "./call.js"
import type { RedisClient } from "./client.js"
import { outcomeOf } from "./outcome.js"

/** Something that somebody waits for a call to do. */
export interface Errand<T> {
  /** When it was given, by `performance.now()`. */
  readonly since: number
  resolve(result: T): void
  reject(error: SluiceError): void
}

/** How a call is put together for some errands, and what its reply means for each of them. */
export interface Trip<T, E extends Errand<T>> {
  encode(errands: readonly E[]): Call
  decode(errands: readonly E[], reply: unknown): readonly (T | Error)[]
}

/** Runs errands with one call, and those that certainly did not run with another, while they have patience. */
export async function deliver<T, E extends Errand<T>>(
  client: RedisClient,
  patience: number,
  trip: Trip<T, E>,
  errands: readonly E[],
): Promise<void> {
  let left = errands
  for (let pause = 4; left.length > 0; pause *= 2) {
    const results = await attempt(client, trip, left)
    left = left.filter((errand, i) => {
      const result = results[i] as T | Error
      if (!(result instanceof Error)) {
        errand.resolve(result)
        return false
      }
      const again = outcomeOf(result) === "again" && performance.now() - errand.since < patience
      if (!again) errand.reject(storeError(result))
      return again
    })
    if (left.length > 0) await sleep(pause)
  }
}

/** What became of each errand; an error that ended the call is every errand's. */
async function attempt<T, E extends Errand<T>>(
  client: RedisClient,
  trip: Trip<T, E>,
  errands: readonly E[],
): Promise<readonly (T | Error)[]> {
  try {
    return trip.decode(errands, await evaluate(client, trip.encode(errands)))
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown })
    return errands.map(() => error)
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
