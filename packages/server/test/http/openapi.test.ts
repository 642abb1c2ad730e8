import { afterAll, beforeAll, expect, test } from "vitest"
import { createApp } from "../../src/http/create-app.js"
import { type HttpRig, startHttp } from "./http-rig.js"

// biome-ignore lint/suspicious/noExplicitAny: a JSON document
type Json = any

let rig: HttpRig
let document: Json
beforeAll(async () => {
  rig = await startHttp()
  document = (await rig.call("GET", "/openapi.json")).json
})
afterAll(() => rig.stop())

const operations = (): [method: string, path: string, operation: Json][] =>
  Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]): [string, string, Json] => [
      method.toUpperCase(),
      path,
      operation,
    ]),
  )

/** The routes of Fastify's tree, which indents each part of a path by four characters. */
function routesIn(tree: string): string[] {
  const parents: string[] = []
  return tree.split("\n").flatMap((line) => {
    const [, indent = "", part = "", methods] = /^([│├└─ ]*)(\S+)(?: \(([A-Z, ]+)\))?/.exec(line) ?? []
    if (part === "") return []
    const depth = indent.length / 4
    const path = (parents[depth - 1] ?? "") + part
    parents[depth] = path
    return (methods?.split(", ") ?? []).map((method) => `${method} ${path.replace(":limiter", "{limiter}")}`)
  })
}

test("the document has every route of the server, and no other", async () => {
  const app = createApp(rig.context, { listenHost: "127.0.0.1", keepAlive: 5_000, isClosing: () => false })
  await app.ready()
  const routes = routesIn(app.printRoutes({ commonPrefix: false }))
  expect(routes.length).toBeGreaterThan(30)
  expect(
    operations()
      .map(([method, path]) => `${method} ${path}`)
      .sort(),
  ).toEqual(routes.sort())
  await app.close()
})

test("every reference of the document leads somewhere", () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
    ([, path]) => path as string,
  )
  expect(references.length).toBeGreaterThan(10)
  for (const path of references) {
    expect(
      path.split("/").reduce((at, name) => at?.[name], document),
      path,
    ).toBeDefined()
  }
})

test("every operation has an id of its own, a summary, parameters for its path, and a response", () => {
  expect(document.openapi).toBe("3.1.0")
  const ids = operations().map(([, , { operationId }]) => operationId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const [method, path, operation] of operations()) {
    expect(operation.summary, `${method} ${path}`).toMatch(/^[A-Z].*\.$/)
    const inPath = operation.parameters
      .filter((each: Json) => each.in === "path")
      .map((each: Json) => each.name)
    expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
    expect(Object.keys(operation.responses).some((status) => status.startsWith("2"))).toBe(true)
    for (const response of Object.values<Json>(operation.responses)) expect(response.description).not.toBe("")
  }
})

test("every object that a body may be names its fields as required only if it has them", () => {
  const visit = (schema: Json): void => {
    if (typeof schema !== "object" || schema === null) return
    if (Array.isArray(schema.required) && schema.properties !== undefined) {
      for (const name of schema.required) expect(Object.keys(schema.properties)).toContain(name)
    }
    for (const each of Object.values(schema)) visit(each)
  }
  visit(document)
})

test("the statuses that the server answers with are in the document", async () => {
  const responses = document.paths["/v1/limiters/{limiter}/acquire"].post.responses
  expect(Object.keys(responses)).toEqual(["200", "400", "404", "413", "415", "429", "503"])
  expect(Object.keys(document.paths["/v1/rules"].put.responses)).toEqual([
    ...["204", "400", "401", "403", "404", "413", "415", "503"],
  ])
})
