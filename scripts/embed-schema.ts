// Writes the policies of the registry into packages/server/schema.json. `--check` writes nothing and fails if the file is stale.
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import registry from "../packages/sluice/src/algorithms/registry.js"
import type { Field } from "../packages/sluice/src/policy-fields.js"

const algorithms = new URL("../packages/sluice/src/algorithms/", import.meta.url)
const file = new URL("../packages/server/schema.json", import.meta.url)

function schemaOf(field: Field): object {
  if (typeof field === "string") return { $ref: `#/$defs/${field}` }
  if ("most" in field) return { type: "integer", minimum: 1, maximum: field.most, default: field.default }
  return { enum: field, default: field[0] }
}

/** The comment on the type of each policy. */
function descriptions(): Map<string, string> {
  const folders = readdirSync(algorithms, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const texts = folders.map(({ name }) =>
    readFileSync(new URL(`${name}/${name}-policies.ts`, algorithms), "utf8"),
  )
  const types = texts
    .join("\n")
    .matchAll(/\/\*\* (.+) \*\/\nexport interface \w+ {\n {2}readonly algorithm: "(\w+)"/g)
  return new Map([...types].map(([, comment = "", name = ""]) => [name, comment.replaceAll("`", "")]))
}

const described = descriptions()
const schema = JSON.parse(readFileSync(file, "utf8"))
schema.$defs.policy.oneOf = Object.entries(registry).map(([name, { fields }]) => {
  const required = Object.keys(fields).filter((option) => typeof fields[option] === "string")
  const options = Object.entries(fields).map(([option, field]) => [option, schemaOf(field)])
  return {
    type: "object",
    description: described.get(name),
    additionalProperties: false,
    required: ["algorithm", ...required],
    properties: { algorithm: { const: name }, ...Object.fromEntries(options) },
  }
})

// As Biome formats it: a list of plain values is on one line.
const onOneLine = (list: string) => list.replaceAll(/\s+/g, " ").replace("[ ", "[").replace(" ]", "]")
const wanted = `${JSON.stringify(schema, null, 2).replaceAll(/\[[^[\]{}]+\]/g, onOneLine)}\n`

if (!process.argv.includes("--check")) {
  writeFileSync(file, wanted)
} else if (readFileSync(file, "utf8") !== wanted) {
  console.error("packages/server/schema.json is stale: run `npm run embed` and commit the result")
  process.exit(1)
}
