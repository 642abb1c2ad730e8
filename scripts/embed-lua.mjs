// Embeds each Lua file once in a TypeScript module, without comments. The module of the algorithms also gathers their wire formats.
// `--check` writes nothing and fails if a module is stale.
import { readdirSync, readFileSync, writeFileSync } from "node:fs"

const source = new URL("../packages/sluice/src/", import.meta.url)

/** Each algorithm has a folder, with a Lua file of the same name. */
const algorithms = readdirSync(new URL("algorithms/", source), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort()

const inCode = (name) => name.replaceAll(/-(.)/g, (_, letter) => letter.toUpperCase())

const wireFormats = `${algorithms.map((name) => `import ${inCode(name)} from "./${name}/${name}-wire.js"`).join("\n")}
import type { WireFormat } from "./policy-kind.js"
import type { Policy } from "./registry.js"

export const wireFormats: Readonly<Record<Policy["algorithm"], WireFormat>> = {
${algorithms.map((name) => `  ...${inCode(name)},\n`).join("")}}

`

const inFolder = (folder, ...names) => names.map((name) => `${folder}/${name}.lua`)
const redisson = ["state", "acquire", "available-permits", "set-rate", "get-config", "give-back", "delete"]
const steps = ["call", "plan", "spend", "gaps", "give-back", "debt", "bookings", "run"]

const targets = {
  "algorithms/wire.generated.ts": algorithms.map((name) => `algorithms/${name}/${name}.lua`),
  // In this order: a Lua function can only use what is defined before it. The algorithms come after the first file.
  "stores/redis/lua-run.generated.ts": inFolder("stores/redis/lua", ...steps),
  // Each runs as a script of its own.
  "stores/redis/scripts.generated.ts": inFolder("stores/redis/lua", "rules", "reports"),
  "redisson/lua.generated.ts": inFolder("redisson/lua", ...redisson),
}

function withoutComments(path) {
  const text = readFileSync(new URL(path, source), "utf8")
  if (/--\[=*\[/.test(text)) throw new Error(`${path}: start every line of a comment with --`)
  const lines = text.split("\n").map((line) => line.trim())
  return lines.filter((line) => line !== "" && !line.startsWith("--")).join("\n")
}

for (const [target, paths] of Object.entries(targets)) {
  const texts = paths.map((path) => [path.replace(/^.*\//, "").replace(".lua", ""), withoutComments(path)])
  const entries = texts.map(([name, text]) => `  ${JSON.stringify(name)}: ${JSON.stringify(text)},\n`)
  const wanted = `// Made by scripts/embed-lua.mjs from the Lua files: do not edit.
${target.startsWith("algorithms/") ? wireFormats : ""}export const files: Readonly<Record<string, string>> = {
${entries.join("")}}
`
  const file = new URL(target, source)
  if (process.argv.includes("--check")) {
    if (readFileSync(file, "utf8") === wanted) continue
    console.error(`${target} is stale: run \`npm run embed\` and commit the result`)
    process.exit(1)
  }
  writeFileSync(file, wanted)
}
