import { membersOf } from "./structured-field.js"

/** Of other answers `Retry-After` speaks of one resource: when to ask for it again, or to follow to another. */
const speaksForAll = new Set([403, 429, 503])

/** A reset of so many is no number of seconds from now, but since the epoch; and of so many, of milliseconds. */
const EPOCH_SECONDS = 1e9
const EPOCH_MILLISECONDS = 1e12

/** The part of an answer that tells. */
export interface Telling {
  readonly status: number
  readonly headers: Pick<Headers, "get">
}

/**
 * Milliseconds for which an answer tells its caller to stay away, `undefined` if it does not. `Retry-After` goes first,
 * then the fields that say that nothing remains until a reset, newest form first. What is malformed is ignored.
 */
export function told({ status, headers }: Telling): number | undefined {
  // by the clock of the server, which need not agree with this one
  const now = httpDate(headers.get("date")) ?? Date.now()
  const retryAfter = speaksForAll.has(status) ? after(headers.get("retry-after"), now) : undefined
  if (retryAfter !== undefined) return retryAfter
  // what a cache has kept speaks of another time
  if (Number(headers.get("age")) > 0) return undefined
  return (
    rateLimit(headers.get("ratelimit")) ??
    counters(headers, "ratelimit-", now) ??
    counters(headers, "x-ratelimit-", now) ??
    counters(headers, "x-rate-limit-", now)
  )
}

/** RFC 9110, section 10.2.3: seconds, or a date. */
function after(text: string | null, now: number): number | undefined {
  const seconds = digits(text)
  if (seconds !== undefined) return seconds * 1_000
  const date = httpDate(text)
  return date === undefined ? undefined : Math.max(date - now, 0)
}

/** `"name";r=0;t=30, …` of the drafts from 8 on, or `limit=10, remaining=0, reset=30` of draft 7. */
function rateLimit(text: string | null): number | undefined {
  if (text === null) return undefined
  const waits = membersOf(text, "list").map(({ parameters }) =>
    untilReset(parameters.get("r"), parameters.get("t")),
  )
  const known = waits.filter((wait) => wait !== undefined)
  if (known.length > 0) return Math.max(...known)
  const members = membersOf(text, "dictionary")
  const find = (wanted: string) => members.find(({ name }) => name === wanted)?.value
  return untilReset(find("remaining"), find("reset"))
}

function untilReset(remaining: string | undefined, reset: string | undefined): number | undefined {
  const seconds = digits(reset)
  return digits(remaining) === 0 && seconds !== undefined ? seconds * 1_000 : undefined
}

/** A field for what remains and one for when it is reset. */
function counters(headers: Telling["headers"], prefix: string, now: number): number | undefined {
  if (digits(headers.get(`${prefix}remaining`)) !== 0) return undefined
  const text = headers.get(`${prefix}reset`)?.trim() ?? ""
  if (!/^\d+(\.\d+)?$/.test(text)) return undefined
  const reset = Number(text)
  if (reset < EPOCH_SECONDS) return Math.ceil(reset * 1_000)
  return Math.max(Math.ceil(reset < EPOCH_MILLISECONDS ? reset * 1_000 : reset) - now, 0)
}

function digits(text: string | null | undefined): number | undefined {
  return text != null && /^\s*\d+\s*$/.test(text) ? Number(text) : undefined
}

/** Milliseconds since the epoch of a date in any of the three forms of RFC 9110, section 5.6.7. */
function httpDate(text: string | null): number | undefined {
  const form = /^[A-Z][a-z]{2,8},? [\w -]+ \d\d:\d\d:\d\d (GMT|\d{4})$/.exec(text?.trim() ?? "")
  if (form === null) return undefined
  const [date, ending] = form
  const at = Date.parse(ending === "GMT" ? date : `${date} GMT`)
  return Number.isNaN(at) ? undefined : at
}
