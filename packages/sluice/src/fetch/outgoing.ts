type Fetch = typeof globalThis.fetch
type Input = Parameters<Fetch>[0]
type Init = NonNullable<Parameters<Fetch>[1]>

/** A snapshot of a fetch call: the caller may change the arguments while the call waits. */
export interface Outgoing {
  /** The request without its body, for the key function. */
  readonly request: Request
  readonly signal: AbortSignal | undefined
  /** Whether its body can be sent more than once. */
  readonly resendable: boolean
  send(fetch: Fetch): Promise<Response>
}

/** Copies the arguments of a fetch call. Invalid arguments throw the same error that fetch rejects with. */
export function outgoing(input: Input, init: Init | undefined): Outgoing {
  const given = isRequest(input) ? input : undefined
  const url = given === undefined ? String(input) : given.url
  const method = init?.method ?? given?.method
  const headers = init?.headers ?? given?.headers
  const request = new Request(url, { ...(method && { method }), ...(headers && { headers }) })
  const body = init?.body ?? given?.body
  // `signal: null` removes the signal of the given Request.
  const signal = init?.signal === undefined ? given?.signal : init.signal
  const again = init && { ...copied(init), ...(init.headers && { headers: request.headers }) }
  return {
    request,
    signal: signal ?? undefined,
    resendable: isWhole(body),
    send: (fetch) => fetch(given ?? url, again),
  }
}

/** The options that fetch reads. They may be inherited: a Request used as init has getters, and a spread would lose them. */
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

/** Whether the input is a Request, of any fetch implementation. A URL has no method. */
function isRequest(input: Input): input is Request {
  return typeof input === "object" && "url" in input && "method" in input
}

/** Whether a body can be sent again. A stream is used up by the first send. */
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
