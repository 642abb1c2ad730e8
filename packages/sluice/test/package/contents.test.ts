import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { expect, inject, test } from "vitest"
import { brokenLinks, documentsIn } from "../support/links.js"
import { root, run } from "./consumer.js"

const packed = inject("packed")
const manifest = JSON.parse(readFileSync(join(packed, "package.json"), "utf8"))

test("the package has no dependencies, and its clients are optional", () => {
  expect(manifest.dependencies ?? {}).toEqual({})
  for (const peer of Object.keys(manifest.peerDependencies)) {
    expect(manifest.peerDependenciesMeta[peer]).toEqual({ optional: true })
  }
})

test("every exported subpath has its code and its types", () => {
  const { "./package.json": self, ...entries } = manifest.exports
  expect(self).toBe("./package.json")
  expect(Object.keys(entries)).toEqual(
    expect.arrayContaining([
      ...[
        ".",
        "./fetch",
        "./redis",
        "./redisson",
        "./rules",
        "./store",
        "./telemetry",
        "./testing",
        "./http",
      ],
      ...["./express", "./fastify", "./hono", "./koa", "./nest", "./web"],
      ...["./better-auth", "./express-rate-limit", "./fastify-rate-limit", "./nest-throttler"],
    ]),
  )
  for (const entry of Object.values<Record<string, Record<string, string>>>(entries)) {
    expect(Object.keys(entry)).toEqual(["import", "require"])
    for (const kind of Object.values(entry)) {
      expect(Object.keys(kind)).toEqual(["types", "default"])
      for (const path of Object.values(kind)) expect(existsSync(join(packed, path)), path).toBe(true)
    }
  }
})

test("the tarball holds the build and the documents: no tests, maps, pictures, translations or benchmarks", () => {
  expect(readdirSync(packed).sort()).toEqual(
    ["COMPATIBILITY.md", "LICENSE", "README.md", "SECURITY.md", "dist", "docs", "package.json"].sort(),
  )
  const files = readdirSync(packed, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
  const strange = files
    .map(({ parentPath, name }) => relative(packed, join(parentPath, name)))
    .filter((file) => !/^(dist\/.+\.(js|d\.ts)|dist\/cjs\/package\.json|docs\/.+\.md|[^/]+)$/.test(file))
  expect(strange).toEqual([])
  expect(files.filter(({ name }) => /\.test\.|\.[a-z]{2}-[A-Z]{2}\.md$|^benchmarks/.test(name))).toEqual([])
})

test("no file of the tarball names a source map, and no type contains Lua", () => {
  const files = (readdirSync(join(packed, "dist"), { recursive: true }) as string[]).filter((file) =>
    /\.(js|ts)$/.test(file),
  )
  const texts = files.map((file) => [file, readFileSync(join(packed, "dist", file), "utf8")] as const)
  expect(texts.length).toBeGreaterThan(200)
  expect(texts.filter(([, text]) => text.includes("sourceMappingURL")).map(([file]) => file)).toEqual([])
  const types = texts.filter(([file]) => file.endsWith(".d.ts"))
  expect(types.filter(([, text]) => /redis\.call|local function/.test(text)).map(([file]) => file)).toEqual(
    [],
  )
})

test("the tarball contains each Lua text once", () => {
  const textsIn = (folder: string, ending: string) =>
    (readdirSync(folder, { recursive: true }) as string[])
      .filter((file) => file.endsWith(ending))
      .map((file) => readFileSync(join(folder, file), "utf8"))
  const times = (texts: string[], piece: string) => texts.join("\n").split(piece).length - 1
  const sources = textsIn(join(root, "packages/sluice/src"), ".lua")
  const built = textsIn(join(packed, "dist"), ".js")
  expect(sources.length).toBeGreaterThan(10)
  for (const source of sources) {
    // The longest piece that needs no escaping in a JavaScript string stands for its file.
    const lines = source.split("\n").filter((line) => !line.trim().startsWith("--"))
    const pieces = lines.flatMap((line) => line.trim().split(/["'`\\$]/))
    const piece = pieces.reduce((longest, one) => (one.length > longest.length ? one : longest))
    expect(times(built, piece), piece).toBe(times(sources, piece))
  }
})

test("every link and anchor in the documents of the tarball leads to something in it", () => {
  expect(brokenLinks(packed, documentsIn(packed))).toEqual([])
})

test("the tarball and the core stay within their sizes, and the core bundles for a browser", async () => {
  const printed = await run(root, "node", "scripts/check-size.mjs", packed, inject("tarball"))
  expect(printed.trim().split("\n")).toEqual([
    expect.stringMatching(/^core, bundled for a browser, gzipped: \d+ bytes of at most 27500$/),
    expect.stringMatching(/^tarball, packed: \d+ bytes of at most 300000$/),
    expect.stringMatching(/^tarball, unpacked: \d+ bytes of at most 1400000$/),
  ])
})
