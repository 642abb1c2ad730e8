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
  const again = init && { ...init, ...(init.headers && { headers: request.headers }) }
  return {
    request,
    signal: signal ?? undefined,
    resendable: isWhole(body),
    send: (fetch) => fetch(given ?? url, again),
  }
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
