import type { RedisClient } from "./client.js"
import { scriptOf } from "./library.js"
import { files } from "./scripts.generated.js"
import { runScript, storeError, toError } from "./transport.js"

/**
 * Runs a script that is not part of the library, on fixed keys. A script that only reads also runs on a replica, and on a server
 * that accepts no writes.
 */
export function ownScript(
  client: RedisClient,
  name: "rules" | "reports",
  keys: readonly string[],
): (...args: string[]) => Promise<readonly unknown[]> {
  const script = scriptOf(files[name] as string)
  return async (...args) => {
    try {
      const reply = await runScript(client, script, { keys, args })
      return Array.isArray(reply) ? reply : [reply]
    } catch (error) {
      throw storeError(toError(error))
    }
  }
}
