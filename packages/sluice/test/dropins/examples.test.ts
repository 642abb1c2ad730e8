import { execFile } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, test } from "vitest"

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const read = (path: string) => readFileSync(root + path, "utf8")
const plain = (text: string) => text.replaceAll(/^ +/gm, "").trim()

const pages = [
  { page: "docs/drop-in-stores.md", examples: "examples/drop-ins" },
  ...(existsSync(`${root}docs/migrate`) ? readdirSync(`${root}docs/migrate`) : []).map((file) => ({
    page: `docs/migrate/${file}`,
    examples: `examples/migrate/${file.replace(/md$/, "ts")}`,
  })),
]

const filesOf = (path: string) =>
  path.endsWith(".ts") ? [path] : readdirSync(root + path).map((file) => `${path}/${file}`)

test.each(pages)("the code in $page is in an example", ({ page, examples }) => {
  const sources = filesOf(examples).map((file) => plain(read(file)))
  const quotes = [...read(page).matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => plain(code as string))
  expect(quotes.length).toBeGreaterThanOrEqual(3)
  for (const quote of quotes) {
    expect(
      sources.some((source) => source.includes(quote)),
      quote,
    ).toBe(true)
  }
})

test.each(pages.flatMap(({ examples }) => filesOf(examples)))("%s runs", async (file) => {
  expect(Object.keys(await import(root + file)).length).toBeGreaterThan(0)
})

test("the examples compile", async () => {
  const tsc = promisify(execFile)(`${root}node_modules/.bin/tsc`, ["-p", "examples"], { cwd: root })
  const { stdout } = await tsc.catch((error: { stdout: string }) => error)
  expect(stdout).toBe("")
}, 300_000)
