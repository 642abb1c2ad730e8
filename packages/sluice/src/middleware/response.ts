import type { Denial } from "../http/denial.js"
import type { Judgement } from "../http/options.js"
import type { HttpRequest } from "../http/request.js"

/** Adapts a `Request` of the Fetch standard. It does not contain the client's address, so the platform must pass it. */
export function fromRequest(request: Request, address?: string): HttpRequest {
  return {
    address,
    header: (name) => request.headers.get(name) ?? undefined,
    signal: () => request.signal,
  }
}

/** A denial as a `Response`. */
export function responseTo({ status, headers, body }: Denial): Response {
  return new Response(body, { status, headers })
}

/** Adds headers that the handler did not set. Copies the response if its headers are immutable, as those of `fetch` are. */
export function withHeaders(response: Response, headers: Judgement["headers"]): Response {
  const missing = Object.entries(headers).filter(([name]) => !response.headers.has(name))
  const set = (target: Response) => {
    for (const [name, value] of missing) target.headers.set(name, value)
    return target
  }
  try {
    return set(response)
  } catch {
    return set(new Response(response.body, response))
  }
}

/** Calls `finish` once, when the body was read to its end, failed or was cancelled. */
export function watched(response: Response, finish: NonNullable<Judgement["finish"]>): Response {
  const { status, body } = response
  if (body === null || status >= 400) {
    void finish(status)
    return response
  }
  const reader = body.getReader()
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        void finish(status)
        controller.close()
      } catch (error) {
        void finish("aborted")
        controller.error(error)
      }
    },
    cancel(reason) {
      void finish("aborted")
      return reader.cancel(reason)
    },
  })
  return new Response(stream, response)
}
