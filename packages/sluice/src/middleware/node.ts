import type { IncomingMessage, ServerResponse } from "node:http"
import type { Denial } from "../http/denial.js"
import type { Judgement } from "../http/options.js"
import type { HttpRequest } from "../http/request.js"

/** A request of Node's HTTP server, for every framework on top of it. */
export class NodeRequest implements HttpRequest {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  #signal: AbortSignal | undefined

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request
    this.#response = response
  }

  get address(): string | undefined {
    return this.#request.socket.remoteAddress
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name]
    return Array.isArray(value) ? value.join(", ") : value
  }

  signal(): AbortSignal {
    if (this.#signal !== undefined) return this.#signal
    const controller = new AbortController()
    this.#signal = controller.signal
    onClose(this.#response, () => controller.abort())
    return controller.signal
  }
}

/** Sets the headers and watches for the end of the response. Returns false if the request is denied, after sending the denial. */
export function admit({ denial, headers, finish }: Judgement, response: ServerResponse): boolean {
  if (denial !== undefined) {
    send(response, denial)
    return false
  }
  for (const name of Object.keys(headers)) response.setHeader(name, headers[name] as string)
  if (finish !== undefined) watch(response, finish)
  return true
}

/** Calls `finish` once, when the response was sent or its connection closed. */
export function watch(response: ServerResponse, finish: NonNullable<Judgement["finish"]>): void {
  onClose(response, () => {
    // An HTTP/2 response is also "finished" after the client reset its stream.
    const sent = response.writableEnded && response.writableFinished
    void finish(sent ? response.statusCode : "aborted")
  })
}

/** Calls the listener when the response closes. A connection that has closed already emits no event. */
function onClose(response: ServerResponse, listener: () => void): void {
  if (response.closed || response.socket?.destroyed === true) listener()
  else response.once("close", listener)
}

/** Sends a denial. */
export function send(response: ServerResponse, { status, headers, body }: Denial): void {
  response.statusCode = status
  for (const name of Object.keys(headers)) response.setHeader(name, headers[name] as string)
  response.end(body)
}
