import { StringDecoder } from "node:string_decoder"

/** Longer lines are no access log, and would fill the memory. */
const LONGEST_LINE = 1_000_000

export interface Chunk {
  readonly lines: readonly string[]
  /** How many lines were too long. They are not among `lines`. */
  readonly tooLong: number
  /** How many bytes were read up to now. */
  readonly bytes: number
}

/** Reads lines in the chunks in which they arrive. Memory is bounded, however long the input is. */
export async function* readLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<Chunk> {
  const decoder = new StringDecoder("utf8")
  let rest = ""
  let isSkipping = false
  let bytes = 0
  for await (const data of input) {
    bytes += data.length
    const pieces = decoder.write(Buffer.from(data.buffer, data.byteOffset, data.length)).split("\n")
    const last = pieces.pop() as string
    let tooLong = 0
    if (pieces.length > 0) {
      if (isSkipping) pieces.shift()
      else pieces[0] = `${rest}${pieces[0]}`
      isSkipping = false
      rest = last
    } else if (!isSkipping) rest += last
    if (rest.length > LONGEST_LINE) {
      tooLong += 1
      isSkipping = true
      rest = ""
    }
    yield { lines: pieces.map(withoutReturn), tooLong, bytes }
  }
  rest += decoder.end()
  if (rest !== "" && !isSkipping) yield { lines: [withoutReturn(rest)], tooLong: 0, bytes }
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line
}
