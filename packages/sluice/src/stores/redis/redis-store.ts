import { type Clock, checkClock, microseconds } from "../../clock.js"
import { type Duration, milliseconds } from "../../duration.js"
import { checkFields, SluiceError, shown } from "../../errors.js"
import type { Answer, Store } from "../../store.js"
import { type Call, decodeAnswers, encodeAsks, encodeForget, encodeGiveBack } from "./call.js"
import type { RedisClient } from "./client.js"
import { outcomeOf } from "./outcome.js"

export interface RedisStoreOptions {
  /** Begins every key; `"sluice:1"` if left out, the 1 being the version of the stored state. */
  readonly prefix?: string
  /** Tells the time in place of the server's clock. */
  readonly clock?: Clock
  /** How long a call that was certainly not executed is tried again; `"1s"` if left out, 0 for not at all. */
  readonly retryFor?: Duration
}

/** Keeps state in Redis or Valkey, where scripts decide: `redisStore(ioredis(client))`. */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  checkFields("INVALID_OPTION", "redisStore", options, ["prefix", "clock", "retryFor"])
  const { prefix = "sluice:1", clock, retryFor = "1s" } = options
  if (typeof client?.runByHash !== "function" || typeof client.runByText !== "function") {
    throw new SluiceError(
      "INVALID_OPTION",
      `redisStore takes ioredis(client) or nodeRedis(client), got ${shown(client)}`,
    )
  }
  if (typeof prefix !== "string" || !/^[^{}]+$/.test(prefix)) {
    throw new SluiceError("INVALID_OPTION", `prefix must be a string without braces, got ${shown(prefix)}`)
  }
  if (clock !== undefined) checkClock(clock)
  const patience = retryFor === 0 ? 0 : milliseconds(retryFor, "retryFor", "INVALID_OPTION")
  const now = () => (clock === undefined ? "" : String(microseconds(clock)))

  return {
    async ask(ask) {
      const reply = await run(client, () => encodeAsks(prefix, now(), [ask]), patience)
      return understood(() => decodeAnswers([ask], reply))[0] as Answer
    },
    async giveBack(parts) {
      await run(client, () => encodeGiveBack(prefix, now(), parts), patience)
    },
    async forget(keys) {
      await run(client, () => encodeForget(prefix, keys), patience)
    },
  }
}

/** Makes a call once, however often it takes to reach a server that runs it. */
async function run(client: RedisClient, call: () => Call, patience: number): Promise<unknown> {
  const startedAt = performance.now()
  for (let pause = 4; ; pause *= 2) {
    try {
      return await evaluate(client, call())
    } catch (error) {
      const outcome = outcomeOf(error)
      if (outcome === "unknown") {
        throw new SluiceError(
          "STORE_UNKNOWN",
          `no answer from Redis; the call may have run: ${said(error)}`,
          {
            cause: error,
          },
        )
      }
      const left = patience - (performance.now() - startedAt)
      if (outcome === "refused" || left <= 0) {
        throw new SluiceError("STORE_REFUSED", `Redis did not run the call: ${said(error)}`, { cause: error })
      }
      await sleep(Math.min(pause, left))
    }
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

function understood<T>(decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    throw new SluiceError("STORE_UNKNOWN", said(error), { cause: error })
  }
}

function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
