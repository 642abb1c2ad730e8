import type { ResponseHeaders } from "./config.js"
import { type Cursor, shown } from "./cursor.js"

/** The names that Envoy's own server uses. */
export const envoyHeaders: ResponseHeaders = {
  limit: "RateLimit-Limit",
  remaining: "RateLimit-Remaining",
  reset: "RateLimit-Reset",
}

/** Reads whether responses to Envoy carry headers: true, false, or names for some of them. */
export function readResponseHeaders(cursor: Cursor): ResponseHeaders | false | undefined {
  if (typeof cursor.value === "boolean") return cursor.value && envoyHeaders
  if (typeof cursor.value !== "object") {
    return cursor.fail(
      `responseHeaders must be true, false or { limit, remaining, reset }, got ${shown(cursor.value)}`,
    )
  }
  const map = cursor.map(["limit", "remaining", "reset"])
  const name = (key: keyof ResponseHeaders): string => {
    const field = map?.at(key)
    const text = field?.exists ? field.text() : undefined
    if (text !== undefined && !/^[\w!#$%&'*+.^`|~-]+$/.test(text)) {
      field?.fail(`${key} must be the name of a header, got ${shown(text)}`)
    }
    return text ?? envoyHeaders[key]
  }
  return { limit: name("limit"), remaining: name("remaining"), reset: name("reset") }
}
