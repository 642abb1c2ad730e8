import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const source = fileURLToPath(new URL("../../src", import.meta.url))

/** The layers of the code, lowest first. A file imports only from its own layer and from those below it. */
const layers: readonly [name: string, files: RegExp][] = [
  [
    "nouns",
    /^(background|clock|decision|deferred|divide|duration|errors|flat-copy|get-or-add|mode|policy-fields|runtime|sha-256|shared|state-key)\.ts$/,
  ],
  ["algorithms", /^(algorithm|by-cost|policy)\.ts$|^algorithms\//],
  ["store port", /^(store|events)\.ts$/],
  ["stores", /^stores\//],
  ["layers", /^layers\//],
  ["limiter", /^[a-z-]+\.ts$|^waiting\//],
  [
    "integrations",
    /^(index\.ts|client\/|dropins\/|fetch\/|http\/|middleware\/|redisson\/|rules\/|telemetry\/|testing\/)/,
  ],
]

/** A file that matches two layers belongs to the first, except `index.ts`, which belongs to the last. */
function layerOf(file: string): number {
  if (file === "index.ts") return layers.length - 1
  return layers.findIndex(([, files]) => files.test(file))
}

const files = (readdirSync(source, { recursive: true }) as string[]).filter(
  (file) => file.endsWith(".ts") && !/\.(test|generated)\.ts$/.test(file),
)

const importsOf = (file: string): string[] =>
  [...readFileSync(join(source, file), "utf8").matchAll(/ from "(\.[^"]+)\.js"/g)].map(([, path]) =>
    relative(source, join(source, dirname(file), `${path}.ts`)),
  )

test("every source file belongs to a layer of the code", () => {
  expect(files.length).toBeGreaterThan(50)
  expect(files.filter((file) => layerOf(file) < 0)).toEqual([])
})

test("no source file imports from a layer above its own", () => {
  const upward = files.flatMap((file) =>
    importsOf(file)
      .filter((imported) => layerOf(imported) > layerOf(file))
      .map((imported) => `${file} → ${imported}`),
  )
  expect(upward).toEqual([])
})
