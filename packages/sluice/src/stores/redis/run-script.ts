import { SluiceError, shown } from "../../errors.js"
import type { Call } from "./call.js"
import type { RedisClient } from "./client.js"
import { codeOf, isOffline, outcomeOf, UNREADABLE } from "./outcome.js"

/** Runs a script by its hash, or by its text on a server that does not know it. */
export async function runScript(client: RedisClient, call: Call): Promise<unknown> {
  try {
    return await client.runByHash(call.script.sha, call.keys, call.args)
  } catch (error) {
    if (outcomeOf(error) !== "unloaded") throw error
    return runText(client, call)
  }
}

/** Runs a script by its text: EVAL loads and runs at once. */
export async function runText(client: RedisClient, { script, keys, args }: Call): Promise<unknown> {
  return client.runByText(script.source, keys, args)
}

/** What a call ended with, as an error. */
export function errorOf(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown
  return new Error(typeof thrown === "string" ? thrown : shown(thrown), { cause: thrown })
}

/** Says whether the call that met this error may have run. */
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
  const message = `Redis did not run the call, it is safe to ask again: ${why}${said}`
  return new SluiceError("STORE_REFUSED", message, { cause })
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
