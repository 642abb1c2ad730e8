/** Up to this size, reading a body to its end is cheaper than a new connection. */
const MAX_BYTES = 65_536

/**
 * Reads an unwanted response to its end, so that its connection can be reused. A body over 64 KiB is cancelled, which
 * closes the connection. Call the returned function to cancel a body that has not ended yet.
 */
export function discard({ body }: Pick<Response, "body">): () => void {
  if (body === null || body.locked) return () => {}
  const reader = body.getReader()
  const cancel = () => {
    reader.cancel().catch(() => {})
  }
  const read = async () => {
    let left = MAX_BYTES
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
