type Fetch = typeof globalThis.fetch
type Input = Parameters<Fetch>[0]
type Init = NonNullable<Parameters<Fetch>[1]>

/** A call of fetch, as it was when it was made: what it was given may change while it waits. */
export interface Outgoing {
  /** What is asked for, without a body. */
  readonly request: Request
  readonly signal: AbortSignal | undefined
  /** Whether its body can be sent more than once. */
  readonly resendable: boolean
  send(fetch: Fetch): Promise<Response>
}

/** Takes down a call of fetch; throws what fetch rejects with if it makes no sense. */
export function outgoing(input: Input, init: Init | undefined): Outgoing {
  const given = isRequest(input) ? input : undefined
  const url = given === undefined ? String(input) : given.url
  const method = init?.method ?? given?.method
  const headers = init?.headers ?? given?.headers
  const request = new Request(url, { ...(method && { method }), ...(headers && { headers }) })
  const body = init?.body ?? given?.body
  // null is how a request is sent without the signal it has
  const signal = init?.signal === undefined ? given?.signal : init.signal
  const again = init && { ...copied(init), ...(init.headers && { headers: request.headers }) }
  return {
    request,
    signal: signal ?? undefined,
    resendable: isWhole(body),
    send: (fetch) => fetch(given ?? url, again),
  }
}

/** What fetch reads of an init, whoever it has that from: another Request, say, has none of its own. */
const members = [
  "method",
  "headers",
  "body",
  "referrer",
  "referrerPolicy",
  "mode",
  "credentials",
  "cache",
  "redirect",
  "integrity",
  "keepalive",
  "signal",
  "window",
  "duplex",
  "priority",
  "dispatcher",
]

function copied(init: Init): Init {
  const read = members.map((member) => [member, (init as Record<string, unknown>)[member]] as const)
  return { ...Object.fromEntries(read.filter(([, value]) => value !== undefined)), ...init }
}

/** A Request of whatever fetch: a URL has no method. */
function isRequest(input: Input): input is Request {
  return typeof input === "object" && "url" in input && "method" in input
}

/** Whether a body is all there; what comes in a stream is gone when it has been sent. */
function isWhole(body: unknown): boolean {
  return (
    body === undefined ||
    body === null ||
    typeof body === "string" ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body) ||
    body instanceof URLSearchParams ||
    body instanceof FormData ||
    body instanceof Blob
  )
}
