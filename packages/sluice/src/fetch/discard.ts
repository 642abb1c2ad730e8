/** How many bytes are worth reading to keep a connection. */
const MOST_BYTES = 65_536

/**
 * Reads an answer that nobody wants to its end, so that its connection can be used again; if it is long, or not over
 * when the returned function is called, the connection is closed.
 */
export function discard({ body }: Pick<Response, "body">): () => void {
  if (body === null || body.locked) return () => {}
  const reader = body.getReader()
  const cancel = () => {
    reader.cancel().catch(() => {})
  }
  const read = async () => {
    let left = MOST_BYTES
    while (left > 0) {
      const { done, value } = await reader.read()
      if (done) return
      left -= value.byteLength
    }
    cancel()
  }
  read().catch(() => {})
  return cancel
}
