import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const files = [
  ...readdirSync(folder(".")).map((file) => folder(file)),
  ...["hono.ts", "response.ts", "web.ts"].map((file) => folder(`../middleware/${file}`)),
].filter((file) => !file.endsWith(".test.ts"))

test.each(files)("%s runs outside Node: it imports no node: module and uses no Buffer", (file) => {
  const source = readFileSync(file, "utf8")
  expect(source).not.toMatch(/from "node:|import\("node:|require\(|\bBuffer\b|\bprocess\./)
})

// The folder `nest` is left out: its guard and decorators need Nest at run time.
const frameworks = readdirSync(folder("../middleware")).filter((file) => /(?<!\.test)\.ts$/.test(file))

test.each(frameworks)("%s imports types only from its framework", (file) => {
  const source = readFileSync(folder(`../middleware/${file}`), "utf8")
  const packages = [...source.matchAll(/^(import .*) from "(?!\.)/gm)].map(([, statement]) => statement)
  for (const statement of packages) expect(statement).toMatch(/^import type /)
})
