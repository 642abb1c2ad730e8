import { Agent, type IncomingHttpHeaders, request } from "node:http"

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at any field
  readonly json: any
  /** How long it took, in milliseconds. */
  readonly ms: number
}

export interface SendOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  readonly agent?: Agent
  /** The address that the request comes from, such as 127.0.0.2. */
  readonly from?: string
}

/** Sends a request. By default each one has a connection of its own. */
export function send(url: string, options: SendOptions = {}): Promise<Reply> {
  const { headers = {}, body, agent, from } = options
  const { method = body === undefined ? "GET" : "POST" } = options
  const text = body === undefined ? undefined : JSON.stringify(body)
  const type = text === undefined ? {} : { "content-type": "application/json" }
  const length = text === undefined ? {} : { "content-length": String(Buffer.byteLength(text)) }
  const start = performance.now()
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        method,
        headers: { ...type, ...length, ...headers },
        agent: agent ?? false,
        ...(from !== undefined && { localAddress: from }),
      },
      (incoming) => {
        const chunks: Buffer[] = []
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
        incoming.on("error", reject)
        incoming.on("end", () => {
          const text = Buffer.concat(chunks).toString()
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            text,
            get json() {
              return JSON.parse(text)
            },
            ms: performance.now() - start,
          })
        })
      },
    )
    outgoing.on("error", reject)
    outgoing.end(text)
  })
}

/** Asks a service for one unit, or for `cost`. */
export function acquire(
  service: { readonly url: string },
  limiter: string,
  body: { readonly key: string; readonly cost?: number; readonly timeout?: string },
  options: SendOptions = {},
): Promise<Reply> {
  return send(`${service.url}/v1/limiters/${limiter}/acquire`, { ...options, body })
}

/** Connections that stay open between requests. */
export function keepAlive(maxSockets = Number.POSITIVE_INFINITY): Agent {
  return new Agent({ keepAlive: true, maxSockets })
}

/** The value that is greater than this share of all values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
