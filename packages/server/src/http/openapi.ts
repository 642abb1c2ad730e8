import { STATUS_CODES } from "node:http"
import type { Operation, Schema } from "./route.js"
import { decisionSchema, problemSchema } from "./schemas.js"

/** Schemas that the document defines once. */
const components: Readonly<Record<string, Schema>> = { Decision: decisionSchema, Problem: problemSchema }

/** The OpenAPI 3.1 document of the routes. */
export function openApiDocument(routes: readonly Operation[]): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    const path = route.url.replaceAll(/:(\w+)/g, "{$1}")
    const methods = [route.method].flat().map((method) => [method.toLowerCase(), operationOf(route, method)])
    paths[path] = { ...paths[path], ...Object.fromEntries(methods) }
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Sluice",
      version: "1",
      description: "A rate limit server. Every failure is a problem of RFC 9457.",
    },
    paths,
    components: {
      schemas: Object.fromEntries(
        Object.entries(components).map(([name, schema]) => [name, withReferences(schema, schema)]),
      ),
      securitySchemes: { admin: { type: "http", scheme: "bearer" } },
    },
  }
}

function operationOf(route: Operation, method: string): object {
  const { url, summary, isAdmin, body, success } = route
  const { status, description, schema } = success
  return {
    operationId: `${method.toLowerCase()}${url.replaceAll(/\W+(\w)/g, (_, first: string) => first.toUpperCase())}`,
    summary,
    ...(isAdmin === true && { security: [{ admin: [] }] }),
    parameters: parametersOf(route),
    ...(body !== undefined && { requestBody: { required: true, content: json(body) } }),
    responses: {
      [status]: { description, ...(schema !== undefined && { content: json(schema) }) },
      ...Object.fromEntries(problemsOf(route).map((each) => [each, problemResponse(each)])),
    },
  }
}

function json(schema: Schema, type = "application/json"): object {
  return { [type]: { schema: withReferences(schema) } }
}

function problemResponse(status: number): object {
  return { description: STATUS_CODES[status] ?? "", content: json(problemSchema, "application/problem+json") }
}

/** Every status that a route can fail with. */
function problemsOf({ url, isAdmin, query, body, problems = [] }: Operation): number[] {
  const all = [
    ...(body !== undefined || query !== undefined ? [400] : []),
    ...(isAdmin === true ? [401, 403] : []),
    ...(url.includes(":limiter") ? [404] : []),
    ...(body === undefined ? [] : [413, 415]),
    ...problems,
  ]
  return [...new Set(all)].sort((a, b) => a - b)
}

function parametersOf({ url, query }: Operation): object[] {
  const inPath = [...url.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }))
  const { properties = {}, required = [] } = (query ?? {}) as {
    properties?: Readonly<Record<string, Schema>>
    required?: readonly string[]
  }
  const inQuery = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema,
  }))
  return [...inPath, ...inQuery]
}

/** Replaces schemas that the document defines once by references to them. */
function withReferences(value: unknown, root?: Schema): unknown {
  if (typeof value !== "object" || value === null) return value
  const name = value === root ? undefined : Object.keys(components).find((each) => components[each] === value)
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` }
  if (Array.isArray(value)) return value.map((each) => withReferences(each))
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withReferences(each)]))
}
