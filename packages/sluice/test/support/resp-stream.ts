/** A RESP value. Errors are Error objects, and push messages are marked, because they reply to no command. */
export type RespValue = string | number | null | RespError | RespPush | RespValue[]

export class RespError {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}

export class RespPush {}

/** Parses the bytes of one direction of a connection, RESP2 or RESP3, into complete values. */
export class RespStream {
  #bytes: Buffer = Buffer.alloc(0)
  #at = 0

  take(chunk: Buffer): RespValue[] {
    const values: RespValue[] = []
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    let done = 0
    for (;;) {
      this.#at = done
      const value = this.#value()
      if (value === undefined) break
      done = this.#at
      values.push(value)
    }
    this.#bytes = this.#bytes.subarray(done)
    return values
  }

  /** The value that starts here. Undefined while it is incomplete. */
  #value(): RespValue | undefined {
    const end = this.#bytes.indexOf("\r\n", this.#at)
    if (end < 0) return undefined
    const type = String.fromCharCode(this.#bytes[this.#at] as number)
    const line = this.#bytes.toString("latin1", this.#at + 1, end)
    this.#at = end + 2
    switch (type) {
      case "+":
      case ",":
      case "(":
      case "#":
        return line
      case ":":
        return Number(line)
      case "-":
        return new RespError(line)
      case "_":
        return null
      case "$":
      case "=":
        return this.#bulk(Number(line))
      case "!": {
        const text = this.#bulk(Number(line))
        return typeof text === "string" ? new RespError(text) : text
      }
      case "*":
      case "~":
        return this.#values(Number(line))
      case "%":
        return this.#values(Number(line) * 2)
      case ">": {
        const values = this.#values(Number(line))
        return values === undefined ? undefined : new RespPush()
      }
      default:
        throw new Error(`not RESP: ${type}${line}`)
    }
  }

  #bulk(length: number): string | null | undefined {
    if (length < 0) return null
    const from = this.#at
    this.#at = from + length + 2
    return this.#bytes.length < this.#at ? undefined : this.#bytes.toString("utf8", from, from + length)
  }

  #values(count: number): RespValue[] | null | undefined {
    if (count < 0) return null
    const values: RespValue[] = []
    while (values.length < count) {
      const value = this.#value()
      if (value === undefined) return undefined
      values.push(value)
    }
    return values
  }
}
