import type { Schema } from "./route.js"

// Errors quote the descriptions: "cost must be an integer from 1 to …, got -1".

/** The library allows longer keys. A bound here keeps requests small. */
const LONGEST_KEY = 8_192

export const keySchema = {
  type: "string",
  minLength: 1,
  maxLength: LONGEST_KEY,
  description: "a text of 1 to 8,192 characters",
} as const satisfies Schema

const units = (least: number) => ({ type: "integer", minimum: least, maximum: Number.MAX_SAFE_INTEGER })

/** Units, or units by policy name. */
function costOf(least: number): Schema {
  const byName = { type: "object", additionalProperties: units(0), maxProperties: 64 }
  const description = `an integer from ${least} to 2^53 - 1, or such integers by policy name`
  return { anyOf: [units(least), byName], description }
}

export const costSchema = costOf(1)
export const actualCostSchema = costOf(0)

export const durationSchema: Schema = {
  type: ["integer", "string"],
  minimum: 0,
  maximum: 315_619_200_000,
  pattern: "^\\d{1,15} ?(ms|s|m|h|d)$",
  description: 'a duration: milliseconds, or a text such as "250ms", "10s" or "5m"',
}

export const textSchema = (most: number): Schema => ({
  type: "string",
  minLength: 1,
  maxLength: most,
  description: `a text of 1 to ${most} characters`,
})

/** An object with these fields and no others. */
export function objectSchema(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
): Schema {
  return { type: "object", properties, required, additionalProperties: false }
}

/** How many elements of a list a query wants, as text. */
export const countSchema: Schema = {
  type: "string",
  pattern: "^([1-9]\\d{0,2}|1000)$",
  description: "an integer from 1 to 1000",
}

const number = { type: "number" }
/** JSON has no infinity, so null stands for it. */
const wait = { type: ["number", "null"], description: "milliseconds; null if the cost can never pass" }
const level = {
  allowed: { type: "boolean" },
  policy: { type: "string" },
  limit: number,
  window: number,
  remaining: number,
  retryAfter: wait,
  resetAfter: wait,
}

export const decisionSchema: Schema = {
  type: "object",
  description: "The answer to a request. Times are in milliseconds.",
  properties: {
    ...level,
    source: { type: "string", enum: ["store", "cache", "lease", "fallback", "rule"] },
    degraded: { type: "boolean" },
    observed: { type: "string", enum: ["denied"] },
    policies: {
      type: "array",
      items: { type: "object", properties: level, required: Object.keys(level) },
    },
  },
  required: [...Object.keys(level), "source", "degraded"],
}

export const problemSchema: Schema = {
  type: "object",
  description: "Problem details of RFC 9457. A denial has the decision.",
  properties: {
    type: { type: "string" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string" },
    code: { type: "string", description: "the code of a SluiceError" },
    "violated-policies": { type: "array", items: { type: "string" } },
    decision: decisionSchema,
  },
  required: ["type", "title", "status", "detail"],
}

/** A reply whose fields are described elsewhere. */
export const openObject = (description: string): Schema => ({
  type: "object",
  description,
  additionalProperties: true,
})

export const settledSchema: Schema = {
  type: "object",
  properties: { settled: { type: "boolean", description: "false if it was settled before or has expired" } },
  required: ["settled"],
}
