import type { Server } from "node:http"
import type { AddressInfo } from "node:net"
import type { Decision } from "sluice"
import type { RateLimitOptions } from "sluice/http"

/** The response of a handler, in a form that every framework can translate. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Text, or chunks to stream as they come. */
  readonly body?: string | AsyncIterable<string>
}

/** Answers any request. A rejection is an error in the handler, which the framework turns into a response. */
export type Handle = (path: string, decision: Decision | undefined) => Promise<Reply>

/** A server under test. */
export interface Running {
  readonly url: string
  close(): Promise<void>
}

/** A framework as the suite sees it. */
export interface Adapter {
  readonly name: string
  /** False where the platform, and not the middleware, answers a request whose handler failed. */
  readonly headersOnError: boolean
  /** False where a request has only one limit. */
  readonly stacks?: false
  /**
   * Starts a server that mounts `rateLimit` once for each of the options, in their order, and then one handler for all
   * paths and methods. The handler calls `handle` with the path and `decisionOf` the framework's request.
   */
  start(limits: readonly RateLimitOptions<object>[], handle: Handle): Promise<Running>
}

/** A Node server on a free port of loopback. */
export async function running(server: Server): Promise<Running> {
  if (!server.listening) await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A reply as a `Response` of the Fetch standard. */
export function toResponse({ status, headers = {}, body }: Reply): Response {
  if (body === undefined || typeof body === "string") return new Response(body ?? null, { status, headers })
  const iterator = body[Symbol.asyncIterator]()
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(new TextEncoder().encode(value))
    },
    async cancel() {
      await iterator.return?.()
    },
  })
  return new Response(stream, { status, headers })
}
