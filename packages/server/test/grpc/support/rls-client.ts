import { Client, credentials, type ServiceError } from "@grpc/grpc-js"
import { encode, type Field, Message } from "./wire.js"

const PATH = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"

/** The numbers of Envoy's enums. */
export const codes = ["UNKNOWN", "OK", "OVER_LIMIT"]
export const units = ["UNKNOWN", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR", "WEEK"]

export interface Descriptor {
  /** The entries in order. A list allows a key to stand twice. */
  readonly entries: readonly (readonly [key: string, value: string])[]
  readonly limit?: { readonly requestsPerUnit: number; readonly unit: number }
  readonly hits?: number | bigint
  readonly isNegative?: boolean
}

/** A descriptor of one request: `on("ip", "1.2.3.4")`, or of several entries. */
export function on(...words: string[]): Descriptor {
  return {
    entries: Array.from({ length: words.length / 2 }, (_, i) => [words[2 * i] ?? "", words[2 * i + 1] ?? ""]),
  }
}

/** A request as bytes, made of field numbers alone. */
export function requestBytes(domain: string, descriptors: readonly Descriptor[], hits?: number): Buffer {
  const fields: Field[] = [[1, domain]]
  for (const { entries, limit, hits: own, isNegative } of descriptors) {
    const descriptor: Field[] = entries.map(([key, value]) => [
      1,
      [
        [1, key],
        [2, value],
      ],
    ])
    if (limit !== undefined)
      descriptor.push([
        2,
        [
          [1, limit.requestsPerUnit],
          [2, limit.unit],
        ],
      ])
    if (own !== undefined) descriptor.push([3, [[1, own]]])
    if (isNegative !== undefined) descriptor.push([4, isNegative])
    fields.push([2, descriptor])
  }
  if (hits !== undefined) fields.push([3, hits])
  return encode(fields)
}

export interface Status {
  readonly code: string
  readonly limit?: { readonly requests: number; readonly unit: string; readonly name?: string }
  readonly remaining: number
  readonly reset?: number
}

export interface Response {
  readonly code: string
  readonly statuses: readonly Status[]
  readonly headers: Readonly<Record<string, string>>
}

export function readResponse(bytes: Uint8Array): Response {
  const message = new Message(bytes)
  return {
    code: codes[message.integer(1)] as string,
    statuses: message.messages(2).map((status) => {
      const [limit, reset] = [status.message(2), status.message(4)]
      return {
        code: codes[status.integer(1)] as string,
        remaining: status.integer(3),
        ...(limit && {
          limit: {
            requests: limit.integer(1),
            unit: units[limit.integer(2)] as string,
            ...(limit.has(3) && { name: limit.text(3) }),
          },
        }),
        ...(reset && { reset: reset.integer(1) }),
      }
    }),
    headers: Object.fromEntries(message.messages(3).map((header) => [header.text(1), header.text(2)])),
  }
}

/** A client that sends bytes, so that it can also send what is no message. */
export function rlsClient(port: number) {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  const unary = (path: string, bytes: Buffer) =>
    new Promise<Buffer>((resolve, reject) => {
      const deadline = Date.now() + 20_000
      const pass = (value: Buffer) => value
      client.makeUnaryRequest(path, pass, pass, bytes, { deadline }, (error: ServiceError | null, value) =>
        error === null ? resolve(value as Buffer) : reject(error),
      )
    })
  return {
    unary,
    send: async (bytes: Buffer) => readResponse(await unary(PATH, bytes)),
    ask: async (domain: string, descriptors: readonly Descriptor[], hits?: number) =>
      readResponse(await unary(PATH, requestBytes(domain, descriptors, hits))),
    raw: client,
    close: () => client.close(),
  }
}
