import { SluiceError, shown } from "./errors.js"
import type { Store } from "./store.js"

/** The code to suggest for a Redis client, by a method that tells it from the clients further down. */
const hints: readonly (readonly [method: string, hint: string])[] = [
  ["run", "redisStore(client)"],
  ["createScript", "redisStore(upstash(client))"],
  ["evalsha", "redisStore(ioredis(client))"],
  ["evalSha", "redisStore(nodeRedis(client))"],
  ["customCommand", "redisStore(glide(client))"],
]

/** Throws if the value is not a store. For a Redis client, the most common mistake, the message shows how to wrap it. */
export function checkStore(store: unknown): asserts store is Store {
  const has = (method: string) => typeof (store as Record<string, unknown> | null)?.[method] === "function"
  if (["decide", "giveBack", "leave", "settle", "forget"].every(has)) return
  const [, hint] = hints.find(([method]) => has(method)) ?? []
  throw new SluiceError(
    "INVALID_OPTION",
    hint === undefined
      ? `store must be a Store, such as memoryStore(), got ${shown(store)}`
      : `store must be a Store, got a Redis client. Wrap it: store: ${hint}, from "sluice/redis"`,
  )
}
