import { readdirSync, readFileSync } from "node:fs"
import { expect, test } from "vitest"

const folder = new URL("./", import.meta.url)
const document = readFileSync(new URL("../../../../docs/seeds.md", import.meta.url), "utf8")
const named = [...document.matchAll(/^Test: `(.+)` in `(.+)`$/gm)].map(([, name, file]) => ({ name, file }))

const tests = readdirSync(folder)
  .filter((file) => file.startsWith("differences-"))
  .flatMap((file) => {
    const source = readFileSync(new URL(file, folder), "utf8")
    return [...source.matchAll(/^ {2}test\("(.+)", /gm)].map(([, name]) => ({ name, file }))
  })

test("docs/seeds.md names every test of a difference, and no other", () => {
  const byName = (a: { name?: string | undefined }, b: { name?: string | undefined }) =>
    String(a.name).localeCompare(String(b.name))
  expect(tests.length).toBeGreaterThan(10)
  expect(named.sort(byName)).toEqual(tests.sort(byName))
})

test("every section on a difference in docs/seeds.md ends with a test", () => {
  const sections = document.split(/^### /m).slice(1)
  for (const section of sections) {
    const [title] = section.split("\n", 1)
    expect(section.split(/^## /m)[0], title).toMatch(/\nTest: `.+`\n+$/)
  }
})
