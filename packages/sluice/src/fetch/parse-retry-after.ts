import { membersOf } from "./structured-field.js"

/** With these statuses `Retry-After` limits the caller. With others it concerns one resource, such as a redirect. */
const limitsCaller = new Set([403, 429, 503])

/** From here on, a reset is a date in seconds since the epoch and not a delay. From the second value on, in milliseconds. */
const EPOCH_SECONDS = 1e9
const EPOCH_MILLISECONDS = 1e12

/** The fields of a Response that are read here. */
export interface ResponseHead {
  readonly status: number
  readonly headers: Pick<Headers, "get">
}

/**
 * Milliseconds that a response tells its caller to wait, `undefined` if it does not. `Retry-After` goes first,
 * then RateLimit headers with nothing remaining, newest format first. Malformed headers are ignored.
 */
export function parseRetryAfter({ status, headers }: ResponseHead): number | undefined {
  // Dates are compared with the server's clock, which may differ from ours.
  const now = httpDate(headers.get("date")) ?? Date.now()
  const retryAfter = limitsCaller.has(status) ? after(headers.get("retry-after"), now) : undefined
  if (retryAfter !== undefined) return retryAfter
  // RateLimit headers of a cached response are out of date.
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

/** Separate headers for the remaining quota and its reset, such as `X-RateLimit-Remaining` and `X-RateLimit-Reset`. */
function counters(headers: ResponseHead["headers"], prefix: string, now: number): number | undefined {
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

/** Parses an HTTP date in any of the three formats of RFC 9110, section 5.6.7, to milliseconds since the epoch. */
function httpDate(text: string | null): number | undefined {
  const form = /^[A-Z][a-z]{2,8},? [\w -]+ \d\d:\d\d:\d\d (GMT|\d{4})$/.exec(text?.trim() ?? "")
  if (form === null) return undefined
  const [date, ending] = form
  const at = Date.parse(ending === "GMT" ? date : `${date} GMT`)
  return Number.isNaN(at) ? undefined : at
}
