import { warn } from "../../../runtime.js"
import { checkClient, type RedisClient } from "../client.js"
import { UNCONNECTED } from "../outcome.js"

/** The part of a client of @upstash/redis that is used. */
export interface UpstashLike {
  exec(command: [string, ...string[]]): Promise<unknown>
}

/**
 * Settings of a `Redis` of @upstash/redis with which it never sends a call twice: `new Redis({ ...upstashSettings, url, token })`.
 * Its `retry: false` still repeats a request once.
 */
export const upstashSettings = { retry: { retries: 0 } } as const

/** Lets a store use a client of @upstash/redis, which speaks HTTP. */
export function upstash(client: UpstashLike): RedisClient {
  checkClient("upstash", client, ["exec", "createScript"])
  const repeats = repeatsOf(client)
  if (repeats > 0) warnOfRepeats()
  // `exec` sends one command as one request. Other methods may wait to share a pipeline.
  const send = (...command: [string, ...string[]]) =>
    client.exec(command).catch((error: unknown) => {
      throw explained(error, repeats)
    })
  return {
    run: (command, script, keys, args) => send(command, script, String(keys.length), ...keys, ...args),
    load: (library) => send("FUNCTION", "LOAD", library),
    time: () => send("TIME"),
  }
}

/** How often the client repeats a request that failed. */
function repeatsOf(client: UpstashLike): number {
  const { retry } = (client as { client?: { retry?: { attempts?: unknown } } }).client ?? {}
  return typeof retry?.attempts === "number" ? retry.attempts : 0
}

/** Once in a process, because it is about how its clients are made. */
let hasWarned = false

function warnOfRepeats(): void {
  if (hasWarned) return
  hasWarned = true
  warn(
    'This client of @upstash/redis repeats a request when its connection breaks, so that its cost may be spent twice. Create it with new Redis({ ...upstashSettings, … }), from "sluice/redis". See docs/redis.md.',
  )
}

/**
 * The error without the command that the client appends, because keys in it could look like an error of the server. A request
 * that found no server was not sent; one that was repeated may have been.
 */
function explained(error: unknown, repeats: number): unknown {
  if (!(error instanceof Error)) return error
  const { code } = (error.cause ?? {}) as { code?: unknown }
  if (code === "ECONNREFUSED" && repeats === 0) return new Error(UNCONNECTED, { cause: error })
  const end = error.message.indexOf(", command was: ")
  return end < 0 ? error : new Error(error.message.slice(0, end), { cause: error })
}
