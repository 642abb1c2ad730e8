// Everything that lists policies is derived from the registry of algorithms, or it is compared with it here.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as library from "sluice"
import { conformance } from "sluice/testing"
import { describe, expect, test } from "vitest"
import { algorithmOf, parametersOf } from "../../src/algorithms/index.js"
import { policyOfEach } from "../../src/algorithms/policy-of-each.js"
import registry from "../../src/algorithms/registry.js"
import { files, wireFormats } from "../../src/algorithms/wire.generated.js"

const root = fileURLToPath(new URL("../../../..", import.meta.url))
const exported = new Map<string, unknown>(Object.entries(library))
const schema = JSON.parse(readFileSync(`${root}packages/server/schema.json`, "utf8"))
const folders = readdirSync(`${root}packages/sluice/src/algorithms`, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

describe.each(policyOfEach(10, 1_000))("the policy $algorithm", (policy) => {
  const { algorithm: name } = policy
  const { fields, make } = registry[name]

  test("is made by an export of the package with its name", () => {
    expect(exported.get(name)).toBe(make)
  })

  test("has all of its options, after its name", () => {
    expect(Object.keys(policy)).toEqual(["algorithm", ...Object.keys(fields)])
  })

  test("is sent to an algorithm of the Lua library, in integers", () => {
    const { luaName, luaParameters, work } = wireFormats[name]
    expect(Object.values(files).join("\n")).toContain(`algorithms.${luaName} = `)
    const sent = Object.values(luaParameters(parametersOf(policy, 1) as never))
    expect(sent.length).toBeGreaterThan(0)
    for (const value of [...sent, work]) expect(value).toSatisfy(Number.isSafeInteger)
  })

  test("has names for its stored state", () => {
    const algorithm = algorithmOf(policy)
    const parameters = parametersOf(policy, 1)
    const queue = algorithm.queueState(algorithm.read(parameters, undefined, 7_000))
    expect(queue).toHaveLength(algorithm.queueWidth)
    const values = Object.values(algorithm.describe(queue))
    expect(values.length).toBeGreaterThan(0)
    for (const value of values) expect(value).toSatisfy(Number.isFinite)
  })

  test("is in the conformance suite", () => {
    expect(conformance.filter(({ name: one }) => one.includes(`(${name}`)).length).toBeGreaterThan(20)
  })

  test("is in the schema of the server's configuration", () => {
    const one = schema.$defs.policy.oneOf.find(
      ({ properties }: { properties: { algorithm: { const: string } } }) =>
        properties.algorithm.const === name,
    )
    expect(Object.keys(one.properties)).toEqual(Object.keys(policy))
    expect(one.description).toBeTruthy()
  })

  test("has a page in the docs", () => {
    const page = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    expect(existsSync(`${root}docs/algorithms/${page}.md`)).toBe(true)
  })
})

test("no two policies have the same key suffix, nor that of a note", () => {
  const suffixes = [...Object.values(registry).map(({ suffix }) => suffix), "fg", "rs"]
  expect(new Set(suffixes).size).toBe(suffixes.length)
})

test("the registry has every folder of algorithms", () => {
  const text = readFileSync(`${root}packages/sluice/src/algorithms/registry.ts`, "utf8")
  for (const folder of folders) {
    expect(text).toMatch(new RegExp(`^import .+ from "./${folder}/${folder}-policies.js"$`, "m"))
    expect(text).toContain(`export * from "./${folder}/${folder}-policies.js"`)
  }
})

test("the schema of the server's configuration has no other policy", () => {
  expect(schema.$defs.policy.oneOf).toHaveLength(Object.keys(registry).length)
})
