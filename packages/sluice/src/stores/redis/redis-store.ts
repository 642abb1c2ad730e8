import { type Clock, checkClock, microseconds } from "../../clock.js"
import { type Duration, milliseconds } from "../../duration.js"
import { checkFields, SluiceError, shown } from "../../errors.js"
import { denyCache as rememberDenials } from "../../layers/deny-cache.js"
import { leases } from "../../layers/lease.js"
import { outage as answerInTime } from "../../layers/outage.js"
import type { OutageTerms } from "../../layers/outage-terms.js"
import {
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "../../policy.js"
import type { Place } from "../../state-key.js"
import type { Ask, Part, Store } from "../../store.js"
import { askAcrossSlots, sharesOf } from "./across-slots.js"
import { digestOf, encodeAsks } from "./call.js"
import type { RedisClient } from "./client.js"
import { deliver, type Route } from "./deliver.js"
import { gather, gatherByTag } from "./gather.js"
import { RedisKeys } from "./redis-keys.js"
import { sharedTag } from "./slot-tag.js"

export interface RedisStoreOptions {
  /** Begins every key; `"sluice:1"` if left out, the 1 being the version of the stored state. */
  readonly prefix?: string | undefined
  /** Tells the time in place of the server's clock. */
  readonly clock?: Clock | undefined
  /**
   * Whether what was denied is answered from memory until it may pass, for a second at the most; true if left out.
   * A refund or reset in another process is then seen within that second.
   */
  readonly denyCache?: boolean | undefined
  /** How long a call that was certainly not executed is tried again; `"500ms"` if left out, 0 for not at all. */
  readonly retryFor?: Duration | undefined
}

/** Keeps state in Redis or Valkey, where scripts decide: `redisStore(ioredis(client))`. */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  checkFields("INVALID_OPTION", "redisStore", options, ["prefix", "clock", "denyCache", "retryFor"])
  const { prefix = "sluice:1", clock, denyCache = true, retryFor = "500ms" } = options
  if (typeof client?.runByHash !== "function" || typeof client.runByText !== "function") {
    throw new SluiceError(
      "INVALID_OPTION",
      `redisStore takes ioredis(client), nodeRedis(client) or glide(client), got ${shown(client)}`,
    )
  }
  if (typeof prefix !== "string" || !/^[^{}]+$/.test(prefix)) {
    throw new SluiceError("INVALID_OPTION", `prefix must be a string without braces, got ${shown(prefix)}`)
  }
  if (clock !== undefined) checkClock(clock)
  if (typeof denyCache !== "boolean") {
    throw new SluiceError("INVALID_OPTION", `denyCache must be true or false, got ${shown(denyCache)}`)
  }
  const patience = retryFor === 0 ? 0 : milliseconds(retryFor, "retryFor", "INVALID_OPTION")
  const now = () => (clock === undefined ? "" : String(microseconds(clock)))

  const names = new RedisKeys(prefix)
  const noteOf = (place: Place, name: string) => ({ key: names.note(place, name), place })
  /** Where turns are noted that were given back under these policies. */
  const freedOf = (parts: readonly Part[]) => noteOf(parts[0] as Part, `:${digestOf(parts)}:ft`)

  const route: Route = {
    client,
    patience,
    encode: (asks) => encodeAsks(names, now(), asks),
  }
  const send = (client.clustered === true ? gatherByTag : gather)((batch, over) =>
    deliver(route, batch, over),
  )

  const giveBack = async (parts: readonly Part[], at = -1) => {
    const shares = client.clustered === true ? sharesOf(parts) : [{ parts }]
    // no literal of the shape of an ask: a count that is no small integer would have V8 migrate every ask from then on
    const ask = (parts: readonly Part[]) => ({ parts, mode: "give", count: at }) as const
    await Promise.all(shares.map(({ parts }) => parts.length > 0 && send(ask(parts))))
  }

  // a Cluster loses some of its slots, and with them all keys of a tag
  const outage = (store: Store, terms: OutageTerms) =>
    answerInTime(store, terms, client.clustered === true ? sharedTag : undefined)

  return {
    ...(clock && { clock: Object.assign(() => microseconds(clock) / 1_000, clock) }),
    layers: denyCache ? { denyCache: rememberDenials, leases, outage } : { leases, outage },
    ask(ask) {
      const { parts, count, mode, maxWait = 0, note } = ask
      if (parts.length === 0) return Promise.resolve({ granted: count, levels: [], at: 0 })
      if (client.clustered === true && parts.length > 1 && (mode === "spend" || mode === "peek")) {
        const shares = sharesOf(parts)
        if (shares.length > 1) return askAcrossSlots(shares, ask, send, giveBack)
      }
      if (mode === "book") {
        return send({ parts, mode, count: [maxWait, ...costsOf(parts)], note: freedOf(parts) })
      }
      if (mode === "charge") return send({ parts, mode, count: maxWait })
      if (mode === "reserve" && note !== undefined) {
        return send({ parts, mode, count: note.lasts, note: noteOf(note.place, ":rs") })
      }
      // most often as it is, which spares another for every ask
      return send(isPlain(ask) ? ask : { parts, count, mode })
    },
    giveBack,
    async leave({ parts, at, marks }) {
      await send({ parts, mode: "leave", count: [at, ...costsOf(parts), ...marks], note: freedOf(parts) })
    },
    async settle({ place, back, more, maxWait }) {
      const parts = [...back, ...more]
      const count = [maxWait, ...back.map(() => 0), ...more.map(() => 1)]
      const { granted } = await send({ parts, mode: "settle", count, note: noteOf(place, ":rs") })
      return granted === 1
    },
    async forget(places) {
      const parts = places.flatMap(({ scope, key }) =>
        oneOfEach.map((policy) => ({ scope, key, policy, cost: 1 })),
      )
      if (parts.length > 0) await send({ parts, count: 1, mode: "forget" })
    },
  }
}

/** Some policy of every algorithm: a key under all of them is all that is kept under it. */
const oneOfEach: readonly Policy[] = [
  fixedWindow({ limit: 1, window: 1 }),
  slidingLog({ limit: 1, window: 1 }),
  slidingWindow({ limit: 1, window: 1 }),
  tokenBucket({ capacity: 1, refill: 1, every: 1 }),
  leakyBucket({ capacity: 1, leak: 1, every: 1 }),
]

/** Whether an ask has no note: those of a store and of a script differ. */
function isPlain(ask: Ask): ask is Ask & { readonly note?: never } {
  return ask.note === undefined
}

function costsOf(parts: readonly Part[]): number[] {
  return parts.map(({ cost }) => cost)
}
