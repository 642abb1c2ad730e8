import type { FastifyError, FastifySchemaValidationError } from "fastify"

/** An error of the validator with `verbose`: it has the value, and the schema that the value should fit. */
interface VerboseError extends FastifySchemaValidationError {
  readonly data?: unknown
  readonly parentSchema?: {
    readonly description?: string
    readonly properties?: object
    readonly type?: unknown
  }
}

/** Says what is wrong with a body or a query: the field, what was expected, and what came. */
export function validationDetail({ validation, validationContext }: FastifyError): string {
  const whole = validationContext === "querystring" ? "the query" : "the body"
  // The last error is the outermost one: after the alternatives of a cost, it is about the cost.
  const error = validation?.at(-1) as VerboseError | undefined
  if (error === undefined) return `${whole} is not valid`
  const { instancePath, keyword, params, data, parentSchema } = error
  const where = instancePath === "" ? whole : fieldOf(instancePath)
  if (keyword === "required") return `${where} needs ${String(params["missingProperty"])}`
  if (keyword === "additionalProperties") {
    const known = Object.keys(parentSchema?.properties ?? {})
    return `${where} has no field ${shown(params["additionalProperty"])}; it takes ${known.join(", ")}`
  }
  const expected = parentSchema?.description ?? error.message?.replace(/^must be /, "") ?? "valid"
  return `${where} must be ${expected === "object" ? "a JSON object" : expected}, got ${shown(data)}`
}

/** `/requests/0/cost` as `requests[0].cost`. */
function fieldOf(path: string): string {
  const parts = path.split("/").slice(1)
  return parts.map((part, i) => (/^\d+$/.test(part) ? `[${part}]` : i === 0 ? part : `.${part}`)).join("")
}

function shown(value: unknown): string {
  if (value === undefined) return "nothing"
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === "object" && value !== null) return "an object"
  const text = JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
