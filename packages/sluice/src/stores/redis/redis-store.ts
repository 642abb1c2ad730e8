import { policyOfEach } from "../../algorithms/policy-of-each.js"
import { type Clock, checkClock, microseconds } from "../../clock.js"
import { type Duration, milliseconds } from "../../duration.js"
import { checkFields, SluiceError, shown } from "../../errors.js"
import type { StateRef } from "../../state-key.js"
import type { PolicyRequest, Store } from "../../store.js"
import { decideAcrossSlots, sharesOf } from "./across-slots.js"
import { batcher, batcherByTag } from "./batcher.js"
import type { RedisClient } from "./client.js"
import { skewWarning } from "./clock-skew.js"
import { RedisKeys, sharedTag } from "./keys.js"
import { encodeCall } from "./protocol.js"
import { redisReports } from "./redis-reports.js"
import { redisRules } from "./redis-rules.js"
import { deliveryBy, type Route, sendBatch } from "./transport.js"

export interface RedisStoreOptions {
  /** Every key starts with it. Default: `"sluice"`. */
  readonly prefix?: string | undefined
  /** A clock to use instead of the server's. */
  readonly clock?: Clock | undefined
  /**
   * Whether a denial is repeated from memory until the request may pass, for at most one second. Default: true. A refund or reset
   * in another process then takes effect within that second.
   */
  readonly denyCache?: boolean | undefined
  /** How long a call that certainly did not run is retried. Default: `"500ms"`. 0 means never. */
  readonly retryFor?: Duration | undefined
  /**
   * How the Lua library reaches the server. Default: `"function"`, with scripts where the server has no functions. `"script"` never
   * loads a function library into your database.
   */
  readonly delivery?: "function" | "script" | undefined
}

/** A reset names the state of each algorithm by a policy of it. */
const anyOfEach = policyOfEach(1, 1)

/** Keeps state in Redis or Valkey, where a Lua library decides: `redisStore(ioredis(client))`. */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  const { prefix, clock, denyCache, retryFor, delivery } = checkOptions(client, options)
  const clustered = client.clustered === true
  const names = new RedisKeys(prefix)
  const compareClock = clock === undefined ? () => {} : skewWarning(client, clock)
  const now = () => (clock === undefined ? "" : String(microseconds(clock)))
  const route: Route = {
    delivery: deliveryBy(client, delivery),
    retryFor,
    encode: (requests) => encodeCall(names, now(), requests),
  }
  const send = (clustered ? batcherByTag : batcher)((batch, done) => sendBatch(route, batch, done))

  const noteAt = (stateRef: StateRef, suffix: string) => ({ key: names.note(stateRef, suffix), stateRef })

  const giveBack = async (policies: readonly PolicyRequest[], at = -1) => {
    const shares = clustered ? sharesOf(policies) : [{ policies }]
    await Promise.all(
      shares.map(({ policies }) => policies.length > 0 && send({ policies, mode: "give", count: at })),
    )
  }

  return {
    ...(clock && { clock: Object.assign(() => microseconds(clock) / 1_000, clock) }),
    remote: true,
    denyCache,
    // A Cluster loses single masters, and with one all keys of some tags.
    ...(clustered && { shardOf: sharedTag }),
    nameOf: (policy) => names.of(policy),
    rules: redisRules(client, prefix, clock),
    reports: redisReports(client, prefix),
    decide(request) {
      const { policies, count, mode, maxWait = 0, note } = request
      if (policies.length === 0) return Promise.resolve({ granted: count, levels: [], at: 0 })
      compareClock(policies)
      if (clustered && policies.length > 1 && (mode === "spend" || mode === "peek")) {
        const shares = sharesOf(policies)
        if (shares.length > 1) return decideAcrossSlots(shares, request, send, giveBack)
      }
      if (mode === "peek" && request.inspect !== undefined) {
        // Without a reservation, its note is one that never exists: no policy is named like a reservation.
        const reservation = request.inspect.reservation ?? (policies[0] as PolicyRequest)
        return send({ policies, mode: "inspect", count, note: noteAt(reservation, "rs") })
      }
      if (mode === "book" || mode === "charge") return send({ policies, mode, count: maxWait })
      if (mode === "reserve" && note !== undefined) {
        return send({ policies, mode, count: note.lasts, note: noteAt(note.ref, "rs") })
      }
      return send({ policies, mode, count })
    },
    giveBack,
    async leave({ policies, at, receipt }) {
      await send({ policies, mode: "leave", count: [at, ...receipt] })
    },
    async settle({ ref, back, more, maxWait }) {
      const count = [maxWait, ...back.map(() => 0), ...more.map(() => 1)]
      const request = {
        policies: [...back, ...more],
        mode: "settle",
        count,
        note: noteAt(ref, "rs"),
      } as const
      const { granted } = await send(request)
      return granted === 1
    },
    async forget(stateRefs) {
      const policies = stateRefs.flatMap(({ ref, key }) =>
        anyOfEach.map((policy) => ({ ref, key, policy, cost: 1 })),
      )
      if (policies.length > 0) await send({ policies, count: 1, mode: "forget" })
    },
  }
}

function checkOptions(client: RedisClient, options: RedisStoreOptions) {
  checkFields("INVALID_OPTION", "redisStore", options, [
    "prefix",
    "clock",
    "denyCache",
    "retryFor",
    "delivery",
  ])
  const { prefix = "sluice", clock, denyCache = true, retryFor = "500ms", delivery = "function" } = options
  if (typeof client?.run !== "function") {
    throw new SluiceError(
      "INVALID_OPTION",
      `redisStore takes ioredis(client), nodeRedis(client) or glide(client), got ${shown(client)}`,
    )
  }
  if (typeof prefix !== "string" || !/^[^{}]+$/.test(prefix)) {
    throw new SluiceError(
      "INVALID_OPTION",
      `prefix must be a non-empty string without braces, got ${shown(prefix)}`,
    )
  }
  if (clock !== undefined) checkClock(clock)
  if (typeof denyCache !== "boolean") {
    throw new SluiceError("INVALID_OPTION", `denyCache must be true or false, got ${shown(denyCache)}`)
  }
  if (delivery !== "function" && delivery !== "script") {
    throw new SluiceError("INVALID_OPTION", `delivery must be "function" or "script", got ${shown(delivery)}`)
  }
  const patience = retryFor === 0 ? 0 : milliseconds(retryFor, "retryFor", "INVALID_OPTION")
  return { prefix, clock, denyCache, retryFor: patience, delivery }
}
