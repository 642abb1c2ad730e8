import { MOST_REQUESTS } from "../config/read-domain.js"
import {
  type Entry,
  InvalidRequest,
  type LimitOverride,
  type RateLimitDescriptor,
  type RateLimitRequest,
} from "./messages.js"

/** As for the keys of the HTTP API. */
const LONGEST_TEXT = 8_192

type Fields = Readonly<Record<string, unknown>>

/**
 * Reads the JSON form of a request. As the protobuf standard says, a field may have its JSON name or its original one, null means
 * that it is not there, and integers may be texts. Throws an {@link InvalidRequest}.
 */
export function readRequest(body: unknown): RateLimitRequest {
  const fields = readFields(body, "the body", ["domain", "descriptors", "hits_addend"])
  return {
    domain: readText(fields["domain"], "domain"),
    descriptors: readList(fields["descriptors"], "descriptors").map(readDescriptor),
    hitsAddend: readInteger(fields["hits_addend"], "hitsAddend", MOST_REQUESTS),
  }
}

function readDescriptor(value: unknown, i: number): RateLimitDescriptor {
  const where = `descriptors[${i}]`
  const fields = readFields(value, where, ["entries", "limit", "hits_addend", "is_negative_hits"])
  const { limit, hits_addend: hits, is_negative_hits: isNegative = false } = fields
  if (typeof isNegative !== "boolean") throw wrong(`${where}.isNegativeHits`, "true or false")
  return {
    entries: readList(fields["entries"], `${where}.entries`).map((each, j) =>
      readEntry(each, `${where}.entries[${j}]`),
    ),
    limit: limit === undefined ? undefined : readOverride(limit, `${where}.limit`),
    hitsAddend:
      hits === undefined ? undefined : { value: readInteger(hits, `${where}.hitsAddend`, 2 ** 64 - 1) },
    isNegativeHits: isNegative,
  }
}

function readEntry(value: unknown, where: string): Entry {
  const { key, value: text } = readFields(value, where, ["key", "value"])
  return { key: readText(key, `${where}.key`), value: readText(text, `${where}.value`) }
}

function readOverride(value: unknown, where: string): LimitOverride {
  const { requests_per_unit: requests, unit } = readFields(value, where, ["requests_per_unit", "unit"])
  if (typeof unit !== "string" && typeof unit !== "number") throw wrong(`${where}.unit`, "the name of a unit")
  return { requestsPerUnit: readInteger(requests, `${where}.requestsPerUnit`, MOST_REQUESTS), unit }
}

/** Reads an object with these fields, by their original names. */
function readFields(value: unknown, where: string, names: readonly string[]): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(where, "a JSON object")
  const fields: Record<string, unknown> = {}
  for (const [given, content] of Object.entries(value)) {
    const name = names.find((each) => each === given || camelCase(each) === given)
    if (name === undefined) {
      const known = names.map(camelCase).join(", ")
      throw new InvalidRequest(
        `${where} has no field ${JSON.stringify(given.slice(0, 80))}; it takes ${known}`,
      )
    }
    if (content !== null) fields[name] = content
  }
  return fields
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function readText(value: unknown, where: string): string {
  if (value === undefined) return ""
  if (typeof value === "string" && value.length <= LONGEST_TEXT) return value
  throw wrong(where, "a text of at most 8,192 characters")
}

function readList(value: unknown, where: string): readonly unknown[] {
  if (value === undefined) return []
  if (Array.isArray(value)) return value
  throw wrong(where, "an array")
}

function readInteger(value: unknown, where: string, most: number): number {
  if (value === undefined) return 0
  const isText = typeof value === "string" && /^\d{1,20}$/.test(value)
  const number = isText ? Number(value) : value
  if (typeof number === "number" && Number.isInteger(number) && number >= 0 && number <= most) return number
  throw wrong(where, `an integer from 0 to ${most}`)
}

function wrong(where: string, expected: string): InvalidRequest {
  return new InvalidRequest(`${where} must be ${expected}`)
}
