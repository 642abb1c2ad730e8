import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, inject, test } from "vitest"
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
    expect.arrayContaining([".", "./fetch", "./redis", "./redisson", "./testing"]),
  )
  for (const entry of Object.values<Record<string, string>>(entries)) {
    expect(Object.keys(entry)).toEqual(["types", "default"])
    for (const path of Object.values(entry)) expect(existsSync(join(packed, path)), path).toBe(true)
  }
})

test("the tarball holds the build, the README and the licence, and no tests", () => {
  expect(readdirSync(packed).sort()).toEqual(["LICENSE", "README.md", "dist", "package.json"])
  const files = readdirSync(join(packed, "dist"), { recursive: true }) as string[]
  expect(files.filter((file) => file.includes(".test."))).toEqual([])
})

test("the core entry stays under 16 kB", async () => {
  const printed = await run(root, "node", "scripts/check-size.mjs", join(packed, "dist/index.js"))
  expect(printed).toMatch(/core entry: \d+ bytes gzipped/)
})
