// Embeds the Lua scripts in TypeScript modules, so that the package reads no file at run time.
// `--check` writes nothing and fails when a module on disk is not what the Lua files make.
import { createHash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const algorithms = {
  bucket: "algorithms/bucket/bucket",
  fixedWindow: "algorithms/fixed-window/fixed-window",
  log: "algorithms/log/log",
}

const lua = (name) => `stores/redis/lua/${name}.lua`

/** Answers asks under these algorithms. What is plain comes first and may return: what is not needed is not even defined. */
const ask = (names, { further = false } = {}) => [
  lua("clock"),
  ...names.map((name) => `${algorithms[name]}-plain.lua`),
  lua("plain"),
  lua("state"),
  ...names.map((name) => [`${algorithms[name]}.lua`, ...(further ? [`${algorithms[name]}-turns.lua`] : [])]),
  ...(further ? [lua("modes")] : []),
  lua("ask"),
]

/** One script for asks of any kind, and a shorter one for what most asks need of each algorithm. */
const scripts = {
  ask: ask(Object.keys(algorithms), { further: true }),
  ...Object.fromEntries(Object.keys(algorithms).map((name) => [name, ask([name])])),
}

const onRedisson = (name) => ["redisson/lua/state.lua", `redisson/lua/${name}.lua`]

const redissonScripts = {
  acquire: onRedisson("acquire"),
  availablePermits: onRedisson("available-permits"),
  setRate: onRedisson("set-rate"),
  getConfig: onRedisson("get-config"),
  giveBack: onRedisson("give-back"),
  delete: ["redisson/lua/delete.lua"],
}

const modules = {
  "stores/redis/scripts.generated.ts": scripts,
  "redisson/scripts.generated.ts": redissonScripts,
}

const folder = new URL("../packages/sluice/src/", import.meta.url)

function strip(lua) {
  return lua
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("--"))
    .join("\n")
}

function read(path) {
  const lua = readFileSync(new URL(path, folder), "utf8")
  if (/--\[=*\[/.test(lua)) throw new Error(`${path}: block comments are not stripped, use -- on every line`)
  return strip(lua)
}

/** A file, or several that share locals which nobody else sees. */
function fragment(paths) {
  return Array.isArray(paths) ? `do\n${paths.map(read).join("\n")}\nend` : read(paths)
}

function embed([name, paths]) {
  const source = paths.map(fragment).join("\n")
  const sha = createHash("sha1").update(source).digest("hex")
  const literal = source.replace(/[\\`]|\$\{/g, "\\$&")
  return `  ${name}: {\n    sha: "${sha}",\n    source: \`${literal}\`,\n  },\n`
}

for (const [path, scripts] of Object.entries(modules)) {
  const target = new URL(path, folder)
  const wanted = `// Made by scripts/embed-lua.mjs from the Lua files: do not edit.
export const scripts = {
${Object.entries(scripts).map(embed).join("")}} as const
`
  const found = existsSync(target) ? readFileSync(target, "utf8") : ""
  if (found === wanted) continue
  if (process.argv.includes("--check")) {
    console.error(`${path} differs from the Lua files: run \`npm run embed\` and commit the result`)
    process.exit(1)
  }
  writeFileSync(target, wanted)
  console.log(`wrote ${fileURLToPath(target)}`)
}
