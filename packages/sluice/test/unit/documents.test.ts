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

interface Results {
  readonly environment: { readonly date: string }
  readonly results: readonly {
    readonly id: string
    readonly rows: readonly {
      readonly subject: string
      readonly figures: { readonly rate?: { readonly median: number } }
    }[]
  }[]
}

describe("the documents are true", () => {
  test("every error code has a heading, and every heading a code", () => {
    const codes = read("packages/sluice/src/errors.ts").match(/(?<=\| ")[A-Z_]+(?=")/g)
    const headings = read("docs/errors.md").match(/(?<=^## ).+$/gm)
    expect(headings).toEqual(codes)
  })

  test("the quick start in docs/getting-started.md is the example that runs", () => {
    expect(read("docs/getting-started.md")).toContain(read("examples/quick-start.ts").trim())
  })

  test("the figures in the README are those of bench/results.json", () => {
    const { environment, results } = (JSON.parse(read("bench/results.json")) as { "in-flight": Results })[
      "in-flight"
    ]
    const rate = (id: string, subject: string) => {
      const row = results.find((one) => one.id === id)?.rows.find((one) => one.subject === subject)
      return row?.figures.rate?.median as number
    }
    const rounded = (value: number, step: number) => (Math.round(value / step) * step).toLocaleString("en")
    const figures = ["sluice", "rate-limiter-flexible"].flatMap((subject) => [
      rounded(rate("in-flight-256", subject), 1_000),
      rounded(rate("in-flight-1", subject), 100),
    ])
    for (const page of ["README.md", "README.zh-CN.md"]) {
      const text = read(page)
      expect(text, page).toContain(environment.date)
      for (const figure of figures)
        expect(text, page).toMatch(new RegExp(`(?<![\\d,])${figure}(?![\\d,]*\\d)`))
    }
  })

  test("README.zh-CN.md has the code, the links, the pictures and the sections of README.md", () => {
    const [english, chinese] = [read("README.md"), read("README.zh-CN.md")]
    const blocks = (text: string) => text.match(/^```.*?^```/gms)
    const links = (text: string) => {
      const targets = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target as string)
      return new Set(targets.filter((target) => !target.startsWith("README") && !target.startsWith("#")))
    }
    const rows = (text: string) => text.match(/^\|/gm)?.length
    const sections = (text: string) => text.match(/^## /gm)?.length
    expect(blocks(chinese)).toEqual(blocks(english))
    expect(links(chinese)).toEqual(links(english))
    expect(rows(chinese)).toBe(rows(english))
    expect(sections(chinese)).toBe(sections(english))
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
    expect(pages.length).toBeGreaterThan(0)
    for (const page of pages) {
      expect(read(page).match(/(?<=^## ).+$/gm)).toEqual([
        "Idea",
        "Guarantee",
        "Cost per key",
        "When not to use it",
        "Figures",
        "Reference",
      ])
    }
  })

  test.each(documents)("the links in %s lead somewhere", (file) => {
    for (const [, target] of read(file).matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)) {
      expect(existsSync(join(root, dirname(file), target as string)), target).toBe(true)
    }
  })
})
