import { STATUS_CODES } from "node:http"
import type { Socket } from "node:net"

/**
 * Answers a request that Node cannot parse, and closes its connection. Connection: close keeps the client from sending its next request there.
 * There is no body, because the request may be a HEAD.
 */
export function onClientError({ code }: Error & { readonly code?: string }, socket: Socket): void {
  if (code === "ECONNRESET" || !socket.writable) {
    socket.destroy()
    return
  }
  const status = statusOf(code)
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`
  socket.end(head, () => socket.destroy())
}

function statusOf(code: string | undefined): number {
  if (code === "HPE_HEADER_OVERFLOW") return 431
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400
}
