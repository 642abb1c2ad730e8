// Fails when the package is larger than promised. Usage: check-size.mjs [folder of the package] [its tarball]
import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { rolldown } from "rolldown"

const [folder = "packages/sluice", tarball] = process.argv.slice(2)

/**
 * The core with all it imports, bundled and minified for a browser as Vite does it. What it loads later, with `import()`, is in a
 * chunk of its own and does not count.
 */
async function coreSize() {
  const bundle = await rolldown({
    input: join(folder, "dist/index.js"),
    platform: "browser",
    // Keeps what the core shares with later chunks in the core, as in the bundle of an application.
    preserveEntrySignatures: "allow-extension",
  })
  const { output } = await bundle.generate({ format: "esm", minify: true })
  await bundle.close()
  const chunks = new Map(output.map((chunk) => [chunk.fileName, chunk]))
  const loaded = new Set()
  const load = (name) => {
    const chunk = chunks.get(name)
    if (chunk === undefined) throw new Error(`the core imports ${name}`)
    if (loaded.has(chunk)) return
    loaded.add(chunk)
    chunk.imports.forEach(load)
  }
  load(output[0].fileName)
  return gzipSync([...loaded].map(({ code }) => code).join("\n"), { level: 9 }).length
}

function unpackedSize() {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}

const sizes = [["core, bundled for a browser, gzipped", await coreSize(), 27_500]]
if (tarball !== undefined) {
  sizes.push(
    ["tarball, packed", statSync(tarball).size, 300_000],
    ["tarball, unpacked", unpackedSize(), 1_400_000],
  )
}
for (const [what, size, limit] of sizes) {
  console.log(`${what}: ${size} bytes of at most ${limit}`)
  if (size > limit) process.exitCode = 1
}
