import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { conformance } from "sluice/testing"
import { expect, test } from "vitest"

const folder = fileURLToPath(new URL("..", import.meta.url))
const read = (path: string) => readFileSync(`${folder}${path}`, "utf8")

test("the index of laws has every law of the conformance suite, and names tests that exist", () => {
  const index = read("LAWS.md")
  const laws = [...index.matchAll(/^## Law (\d+): /gm)].map(([, law]) => Number(law))
  expect(laws).toEqual([...new Set(conformance.map(({ law }) => law))].sort((a, b) => a - b))
  const named = [...index.matchAll(/`([\w./-]+\.test\.ts)`/g)].map(([, file]) => file as string)
  expect(named.length).toBeGreaterThan(30)
  expect(named.filter((file) => !existsSync(folder + file))).toEqual([])
  // A law without a test of its own would be a heading with nothing below it.
  for (const section of index.split(/^## /m).slice(1)) expect(section).toMatch(/`[\w./-]+\.test\.ts`/)
})

test("the README of the test support describes every file there, and nothing else", () => {
  const described = [...read("support/README.md").matchAll(/`([a-z-]+\.ts)`/g)].map(
    ([, file]) => file as string,
  )
  const files = readdirSync(`${folder}support`).filter((file) => file.endsWith(".ts"))
  expect([...new Set(described)].sort()).toEqual(files.sort())
})
