import { connect } from "node:net"

export type Reply = string | number | null | Error | Reply[]

type Parsed = { value: Reply; next: number } | undefined

/**
 * Sends one command to a server on 127.0.0.1, over a new connection to its port or Unix socket. Rejects if the reply is an
 * error.
 */
export function command(at: number | string, ...args: (string | number)[]): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const where = typeof at === "string" ? { path: at } : { port: at, host: "127.0.0.1" }
    const socket = connect({ ...where, timeout: 5_000 })
    let received = Buffer.alloc(0)
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk])
      const reply = parse(received, 0)
      if (reply === undefined) return
      socket.destroy()
      if (reply.value instanceof Error) reject(reply.value)
      else resolve(reply.value)
    })
    const fail = (what: string) => () => {
      socket.destroy()
      reject(new Error(`${args[0]}: ${what} by ${at}`))
    }
    socket.on("error", reject)
    socket.on("timeout", fail("no reply"))
    socket.on("close", fail("closed"))
    socket.write(encode(args))
  })
}

function encode(args: (string | number)[]): string {
  return `*${args.length}\r\n${args.map((arg) => `$${Buffer.byteLength(`${arg}`)}\r\n${arg}\r\n`).join("")}`
}

// RESP2. Undefined while the reply is incomplete.
function parse(bytes: Buffer, at: number): Parsed {
  const end = bytes.indexOf("\r\n", at)
  if (end < 0) return undefined
  const line = bytes.toString("utf8", at + 1, end)
  const next = end + 2
  switch (String.fromCharCode(bytes[at] ?? 0)) {
    case "+":
      return { value: line, next }
    case "-":
      return { value: new Error(line), next }
    case ":":
      return { value: Number(line), next }
    case "$":
      return parseBulk(bytes, next, Number(line))
    case "*":
      return parseArray(bytes, next, Number(line))
    default:
      throw new Error(`not a RESP2 reply: ${bytes.toString("utf8", at, end)}`)
  }
}

function parseBulk(bytes: Buffer, at: number, length: number): Parsed {
  if (length < 0) return { value: null, next: at }
  const next = at + length + 2
  return bytes.length < next ? undefined : { value: bytes.toString("utf8", at, at + length), next }
}

function parseArray(bytes: Buffer, at: number, length: number): Parsed {
  if (length < 0) return { value: null, next: at }
  const values: Reply[] = []
  let next = at
  while (values.length < length) {
    const item = parse(bytes, next)
    if (item === undefined) return undefined
    values.push(item.value)
    next = item.next
  }
  return { value: values, next }
}
