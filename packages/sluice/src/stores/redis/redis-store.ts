import { type Clock, checkClock, microseconds } from "../../clock.js"
import { type Duration, milliseconds } from "../../duration.js"
import { checkFields, SluiceError, shown } from "../../errors.js"
import type { Answer, Store } from "../../store.js"
import { decodeAnswers, encodeAsks, encodeForget } from "./call.js"
import type { RedisClient } from "./client.js"
import { deliver, type Trip } from "./deliver.js"
import { gather, gatherByTag, type Waiting } from "./gather.js"

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

  const asking: Trip<Answer, Waiting> = {
    encode: (batch) =>
      encodeAsks(
        prefix,
        now(),
        batch.map(({ ask }) => ask),
      ),
    decode: (batch, reply) =>
      decodeAnswers(
        batch.map(({ ask }) => ask),
        reply,
      ),
  }
  const ask = (client.clustered === true ? gatherByTag : gather)((batch) =>
    deliver(client, patience, asking, batch),
  )

  return {
    ask,
    async giveBack(parts) {
      await ask({ parts, count: 1, mode: "give" })
    },
    forget: (keys) =>
      new Promise<void>((resolve, reject) => {
        const forgetting = { encode: () => encodeForget(prefix, keys), decode: () => [undefined] }
        deliver(client, patience, forgetting, [{ since: performance.now(), resolve, reject }])
      }),
  }
}
