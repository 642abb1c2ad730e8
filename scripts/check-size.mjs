// Fails when the core entry, bundled and minified with all it imports, gzips to more than the promised size.
// Usage: check-size.mjs [entry]
import { gzipSync } from "node:zlib"
import { build } from "esbuild"

const limit = 17_408
const entry = process.argv[2] ?? "packages/sluice/dist/index.js"

const { outputFiles } = await build({
  entryPoints: [entry],
  bundle: true,
  minify: true,
  format: "esm",
  platform: "node",
  target: "node20",
  write: false,
})
const size = gzipSync(outputFiles[0].contents, { level: 9 }).length

console.log(`core entry: ${size} bytes gzipped, limit ${limit}`)
if (size > limit) process.exit(1)
