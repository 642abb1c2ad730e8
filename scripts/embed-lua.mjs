// Embeds the Lua scripts in a TypeScript module, so that the package reads no file at run time.
// `--check` writes nothing and fails when the module on disk is not what the Lua files make.
import { createHash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const scripts = {
  ask: [
    "stores/redis/lua/clock.lua",
    "algorithms/bucket/bucket.lua",
    "algorithms/fixed-window/fixed-window.lua",
    "algorithms/log/log.lua",
    "stores/redis/lua/ask.lua",
  ],
  forget: ["stores/redis/lua/forget.lua"],
}

const folder = new URL("../packages/sluice/src/", import.meta.url)
const target = new URL("stores/redis/scripts.generated.ts", folder)

function strip(lua) {
  return lua
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("--"))
    .join("\n")
}

function fragment(path) {
  const lua = readFileSync(new URL(path, folder), "utf8")
  if (/--\[=*\[/.test(lua)) throw new Error(`${path}: block comments are not stripped, use -- on every line`)
  // the locals of an algorithm are its own
  return path.startsWith("algorithms/") ? `do\n${strip(lua)}\nend` : strip(lua)
}

function embed([name, paths]) {
  const source = paths.map(fragment).join("\n")
  const sha = createHash("sha1").update(source).digest("hex")
  const literal = source.replace(/[\\`]|\$\{/g, "\\$&")
  return `export const ${name} = {\n  sha: "${sha}",\n  source: \`${literal}\`,\n} as const\n`
}

const wanted = [
  "// Made by scripts/embed-lua.mjs from the Lua files: do not edit.\n",
  ...Object.entries(scripts).map(embed),
].join("\n")
const found = existsSync(target) ? readFileSync(target, "utf8") : ""

if (found !== wanted && process.argv.includes("--check")) {
  console.error("scripts.generated.ts differs from the Lua files: run `npm run embed` and commit the result")
  process.exit(1)
}
if (found !== wanted) {
  writeFileSync(target, wanted)
  console.log(`wrote ${fileURLToPath(target)}`)
}
