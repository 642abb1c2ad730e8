import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const folder = fileURLToPath(new URL(".", import.meta.url))
const files = readdirSync(folder).filter((file) => !file.endsWith(".test.ts"))

test.each(files)("%s imports no package, so it loads no peer", (file) => {
  const source = readFileSync(folder + file, "utf8")
  const imported = [...source.matchAll(/\bfrom "([^"]+)"|\bimport\("([^"]+)"\)|require\(/g)]
  expect(imported.length).toBeGreaterThan(0)
  for (const [, path] of imported) expect(path).toMatch(/^\.\.?\//)
})
