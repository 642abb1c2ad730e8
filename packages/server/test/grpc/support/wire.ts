// Protobuf by hand, so that the tests of the protocol do not depend on the .proto files of the server.

/** A field of a message by number: an integer is a varint, a text or bytes are length-delimited, and a list is a message. */
export type Field = readonly [
  number: number,
  value: number | bigint | boolean | string | Uint8Array | readonly Field[],
]

export function encode(fields: readonly Field[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([number, value]) => {
      if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") {
        return [varint(BigInt(number) << 3n), varint(BigInt(value))]
      }
      const bytes = Array.isArray(value)
        ? encode(value as Field[])
        : Buffer.from(value as string | Uint8Array)
      return [varint((BigInt(number) << 3n) | 2n), varint(BigInt(bytes.length)), bytes]
    }),
  )
}

function varint(value: bigint): Buffer {
  const bytes: number[] = []
  for (let rest = BigInt.asUintN(64, value); ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)])
    bytes.push(Number(rest & 127n) | 128)
  }
}

/** A message that was decoded: the values of each field in the order of the bytes. */
export class Message {
  readonly #fields = new Map<number, (bigint | Buffer)[]>()

  constructor(bytes: Uint8Array) {
    let at = 0
    const next = () => {
      let value = 0n
      for (let shift = 0n; ; shift += 7n) {
        const byte = bytes[at++]
        if (byte === undefined) throw new Error("the message ends within a varint")
        value |= BigInt(byte & 127) << shift
        if (byte < 128) return value
      }
    }
    while (at < bytes.length) {
      const tag = next()
      const [number, type] = [Number(tag >> 3n), Number(tag & 7n)]
      const values = this.#fields.get(number) ?? []
      this.#fields.set(number, values)
      if (type === 0) values.push(next())
      else if (type === 2) {
        const length = Number(next())
        values.push(Buffer.from(bytes.subarray(at, at + length)))
        at += length
      } else throw new Error(`wire type ${type} is not expected`)
    }
  }

  has(number: number): boolean {
    return this.#fields.has(number)
  }

  integer(number: number): number {
    return Number((this.#fields.get(number)?.at(-1) as bigint | undefined) ?? 0n)
  }

  text(number: number): string {
    return (this.#fields.get(number)?.at(-1) as Buffer | undefined)?.toString("utf8") ?? ""
  }

  texts(number: number): string[] {
    return (this.#fields.get(number) ?? []).map((bytes) => (bytes as Buffer).toString("utf8"))
  }

  message(number: number): Message | undefined {
    return this.messages(number).at(-1)
  }

  messages(number: number): Message[] {
    return (this.#fields.get(number) ?? []).map((bytes) => new Message(bytes as Buffer))
  }
}
