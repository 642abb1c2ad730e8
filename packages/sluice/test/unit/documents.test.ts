import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"

const root = fileURLToPath(new URL("../../../..", import.meta.url))
const read = (path: string) => readFileSync(join(root, path), "utf8")
const documents = [
  ...readdirSync(root).filter((file) => file.endsWith(".md")),
  ...(readdirSync(join(root, "docs"), { recursive: true }) as string[])
    .filter((file) => file.endsWith(".md"))
    .map((file) => join("docs", file)),
]

describe("the documents are true", () => {
  test("every error code has a heading, and every heading a code", () => {
    const codes = read("packages/sluice/src/errors.ts").match(/(?<=\| ")[A-Z_]+(?=")/g)
    const headings = read("docs/errors.md").match(/(?<=^## ).+$/gm)
    expect(headings).toEqual(codes)
  })

  test("the quick start in the README is the example that runs", () => {
    expect(read("README.md")).toContain(read("examples/quick-start.ts").trim())
  })

  test("the example in docs/redisson.md is the one that runs", () => {
    expect(read("docs/redisson.md")).toContain(read("examples/redisson.ts").trim())
  })

  test.each(["docs/waiting.md", "docs/budgets.md"])("the code in %s is in an example that runs", (page) => {
    const plain = (text: string) => text.replaceAll(/^ +/gm, "").trim()
    const examples = readdirSync(join(root, "examples"))
      .filter((file) => file.endsWith(".ts"))
      .map((file) => plain(read(join("examples", file))))
    const quotes = [...read(page).matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => plain(code as string))
    expect(quotes.length).toBeGreaterThanOrEqual(4)
    for (const quote of quotes) {
      expect(
        examples.some((example) => example.includes(quote)),
        quote,
      ).toBe(true)
    }
  })

  test("every algorithm page has the same headings", () => {
    const pages = documents.filter((file) => file.startsWith("docs/algorithms"))
    expect(pages).toHaveLength(5)
    for (const page of pages) {
      expect(read(page).match(/(?<=^## ).+$/gm)).toEqual([
        "Idea",
        "Guarantee",
        "Cost per key",
        "When not to use it",
        "Figures",
      ])
    }
  })

  test.each(documents)("the links in %s lead somewhere", (file) => {
    for (const [, target] of read(file).matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)) {
      expect(existsSync(join(root, dirname(file), target as string)), target).toBe(true)
    }
  })
})
