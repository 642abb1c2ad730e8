import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

test.each([
  ["integrations", 5],
  ["recipes", 7],
])("the code in docs/%s.md is in an example that runs", (name, quoted) => {
  const plain = (text: string) => text.replaceAll(/^ +/gm, "").trim()
  const examples = (readdirSync(`${root}examples/${name}`, { recursive: true }) as string[])
    .filter((file) => file.endsWith(".ts"))
    .map((file) => plain(readFileSync(`${root}examples/${name}/${file}`, "utf8")))
  const page = readFileSync(`${root}docs/${name}.md`, "utf8")
  const quotes = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => plain(code as string))
  expect(quotes).toHaveLength(quoted)
  for (const quote of quotes) {
    expect(
      examples.some((example) => example.includes(quote)),
      quote,
    ).toBe(true)
  }
})
