// Embeds each Lua file once in a TypeScript module, without comments. `--check` writes nothing and fails if a module is stale.
import { createHash } from "node:crypto"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"

const source = new URL("../packages/sluice/src/", import.meta.url)

/** Each folder of an algorithm has a Lua file of the same name. */
const algorithms = readdirSync(new URL("algorithms/", source), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => `algorithms/${name}/${name}.lua`)
  .sort()

const inFolder = (folder, names) => names.map((name) => `${folder}/${name}.lua`)
const redisson = ["state", "acquire", "available-permits", "set-rate", "get-config", "give-back", "delete"]

const targets = {
  // In this order: a Lua function can only use what is defined before it.
  "stores/redis/lua.generated.ts": [
    "stores/redis/lua/call.lua",
    ...algorithms,
    ...inFolder("stores/redis/lua", ["plan", "spend", "gaps", "give-back", "debt", "bookings", "run"]),
  ],
  "stores/redis/rules.generated.ts": ["stores/redis/lua/rules.lua"],
  "redisson/lua.generated.ts": inFolder("redisson/lua", redisson),
}

function withoutComments(path) {
  const text = readFileSync(new URL(path, source), "utf8")
  if (/--\[=*\[/.test(text)) throw new Error(`${path}: start every line of a comment with --`)
  const lines = text.split("\n").map((line) => line.trim())
  return lines.filter((line) => line !== "" && !line.startsWith("--")).join("\n")
}

for (const [target, paths] of Object.entries(targets)) {
  const texts = paths.map((path) => [path.replace(/^.*\//, "").replace(".lua", ""), withoutComments(path)])
  const body = texts.map(([, text]) => text).join("\n")
  const hash = createHash("sha256").update(body).digest("hex")
  const entries = texts.map(([name, text]) => `  ${JSON.stringify(name)}: ${JSON.stringify(text)},\n`)
  const wanted = `// Made by scripts/embed-lua.mjs from the Lua files: do not edit.
export const hash: string = "${hash.slice(0, 12)}"
export const files: Readonly<Record<string, string>> = {
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
