import type { Chunk } from "../simulate/read-lines.js"
import type { Terminal } from "./command.js"
import { bytes, count, duration } from "./format.js"

/** Milliseconds between two progress lines. */
const INTERVAL = 250

/** Passes chunks on, and shows on standard error how far the reading is. It ends when the terminal is interrupted. */
export async function* withProgress(
  chunks: AsyncIterable<Chunk>,
  size: number | undefined,
  { err, signal, isInteractive }: Terminal,
  now: () => number = () => performance.now(),
): AsyncGenerator<Chunk> {
  const start = now()
  let [shownAt, lines] = [start, 0]
  try {
    for await (const chunk of chunks) {
      if (signal.aborted) return
      yield chunk
      lines += chunk.lines.length
      if (!isInteractive || now() - shownAt < INTERVAL) continue
      shownAt = now()
      err(`\r\u001b[K${progressText(chunk.bytes, size, lines, shownAt - start)}`)
    }
  } finally {
    if (isInteractive) err("\r\u001b[K")
  }
}

export function progressText(read: number, size: number | undefined, lines: number, elapsed: number): string {
  const speed = `${count((lines / elapsed) * 1_000)} lines/s`
  if (size === undefined || size === 0) return `${bytes(read)}, ${speed}`
  const left = (elapsed * Math.max(0, size - read)) / read
  return `${bytes(read)} of ${bytes(size)} (${Math.floor((read / size) * 100)} %), ${speed}, ${duration(Math.ceil(left / 1_000) * 1_000)} left`
}
