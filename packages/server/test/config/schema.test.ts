import { readFileSync } from "node:fs"
import { Ajv2020 } from "ajv/dist/2020.js"
import { expect, test } from "vitest"
import { parse } from "yaml"
import { configKeys } from "../../src/config/read-config.js"
import { descriptorKeys, rateLimitKeys } from "../../src/config/read-domain.js"
import { limiterKeys } from "../../src/config/read-limiter.js"
import { storeKeys } from "../../src/config/read-store.js"

const fileOf = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8")
const schema = JSON.parse(fileOf("schema.json"))
const validate = new Ajv2020({ strict: false }).compile(schema)
const keysOf = (place: { properties: object }) => Object.keys(place.properties).sort()

test("the JSON schema accepts the sample configuration", () => {
  validate(parse(fileOf("sample.yaml")))
  expect(validate.errors).toBeNull()
})

test("the JSON schema refuses what the server refuses", () => {
  expect(validate(parse("limiters: { api: { policy: { algorithm: gcra } } }"))).toBe(false)
  expect(validate(parse("limits: {}"))).toBe(false)
  expect(validate(parse("store: { url: redis://a, prefix: 'a{b}' }"))).toBe(false)
  expect(validate(parse("store: { sentinel: { name: m, nodes: [] } }"))).toBe(false)
})

test("the JSON schema has the keys that the server reads", () => {
  const { descriptor, limiter } = schema.$defs
  expect(keysOf(schema)).toEqual([...configKeys].sort())
  expect(keysOf(limiter)).toEqual([...limiterKeys].sort())
  expect(keysOf(descriptor)).toEqual([...descriptorKeys].sort())
  expect(keysOf(descriptor.properties.rate_limit)).toEqual([...rateLimitKeys].sort())
  expect(keysOf(schema.properties.store.anyOf[2])).toEqual([...storeKeys].sort())
})
