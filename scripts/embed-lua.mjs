// Embeds the Lua scripts in TypeScript modules, so that the package reads no file at run time.
// `--check` writes nothing and fails when a module on disk is not what the Lua files make.
//
// A line `--@ path` stands for what is in another file, and a line `--@ name` for something that depends on the
// algorithm. It is put there as it is, most often in a block of its own: a function would cost every call.
import { createHash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const folder = new URL("../packages/sluice/src/", import.meta.url)
const lua = (name) => `stores/redis/lua/${name}.lua`

/** What buckets have in common, whether they count steps or not. */
const anyBucket = {
  path: "algorithms/bucket/bucket",
  ofPlan: {
    cost: "count * (terms.cost * (terms.parts or 1) + (terms.costPart or 0))",
    span: "terms.span * (terms.parts or 1) + (terms.spanPart or 0)",
    parts: "terms.parts or 1",
  },
  never: "span > 9007199254740991",
  read: lua("read"),
  write: lua("write"),
  several: lua("lane-of-records"),
}

/**
 * Where an algorithm is, its short form for plain asks, the terms that one needs of it, in the order in which they are sent
 * (`plain` of its twin), what those are by the terms of a plan if not the same, what no plain ask has, whether a level may be
 * three integers, and how its state is read, if all at once, and written. If several policies share a record, how many
 * bytes a plain state has, by the terms that are sent.
 */
const algorithms = {
  bucket: {
    ...anyBucket,
    plain: "algorithms/bucket/bucket-plain.lua",
    terms: ["cost", "span", "parts", "reach"],
    size: (term) => `${term("parts")} == 1 and 12 or 22`,
  },
  stepwise: {
    ...anyBucket,
    plain: "algorithms/bucket/stepwise-plain.lua",
    terms: ["cost", "span", "parts", "reach", "step", "life"],
    tellsThree: true,
    size: (term) => `${term("parts")} == 1 and 26 or 36`,
  },
  fixedWindow: {
    path: "algorithms/fixed-window/fixed-window",
    plain: "algorithms/fixed-window/fixed-window-plain.lua",
    terms: ["cost", "limit", "window", "aligned"],
    read: lua("read"),
    write: lua("write"),
    several: lua("lane-of-records"),
    size: () => "25",
  },
  log: {
    path: "algorithms/log/log",
    plain: "algorithms/log/log-plain.lua",
    terms: ["cost", "limit", "window", "merge"],
    read: undefined,
    write: "algorithms/log/log-write.lua",
    several: lua("lane-of-keys"),
  },
}

/** What a file says of one algorithm. */
function of(name, file) {
  const { plain, terms, ofPlan = {}, never, tellsThree, write, several, size = () => "0" } = algorithms[name]
  // by fewer arguments a script could not tell such a call from others
  if (terms.length < 3) throw new Error(`${name}: a plain ask needs three terms or more`)
  const marks = {
    "terms of the call": bound(name, (_, i) => `ARGV[${i + 4}] + 0`),
    "terms of a plan": [
      bound(name, (term) => ofPlan[term] ?? (term === "cost" ? "count * terms.cost" : `terms.${term}`)),
      ...(never ? [`if ${never} then return nil end`] : []),
    ].join("\n"),
    "size of a plan": `return ${size((term) => `(${ofPlan[term]})`)}`,
    "widths of a part": `local ${widths(name)}`,
    "plain part": plainPart(name),
    plain: inBlock(load(plain)),
    "told of a part": told(tellsThree),
    read: reader(name),
    write: inBlock(load(write)),
  }
  return load(file, { ...marks, several: inBlock(load(several, marks)) })
    .replaceAll("NAME", name)
    .replaceAll("TERMS", String(terms.length))
    .replaceAll("SIZE", `(${size((term) => term)})`)
}

/** How many terms a part has, and how many bytes its state, by the arguments from its label on. */
function widths(name) {
  const { terms, size } = algorithms[name]
  const bytes = size?.((term) => `(ARGV[at + ${terms.indexOf(term) + 1}] + 0)`) ?? 0
  return `width, bytes = ${terms.length}, ${bytes}`
}

function bound(name, source) {
  const { terms } = algorithms[name]
  return `local ${terms.join(", ")} = ${terms.map(source).join(", ")}`
}

/** Looks at one part of several, whose terms are numbers from a place on. */
function plainPart(name) {
  return [
    bound(name, (_, i) => `terms[place + ${i + 1}]`),
    "cost = cost * count",
    inBlock(load(algorithms[name].plain)),
  ].join("\n")
}

/** Puts the level of a part behind `at` in the reply. No nil more than needed: each makes room in the table. */
function told(tellsThree) {
  return [
    "reply[at + 1], reply[at + 2] = first, second",
    "at = second and at + 2 or at + 1",
    ...(tellsThree ? ["if third then", "at = at + 1", "reply[at] = third", "end"] : []),
  ].join("\n")
}

/** Answers plain asks before anything else, under one algorithm or several. */
function lane(names) {
  if (names.length === 1) return load(lua("lane"), { lanes: of(names[0], lua("lane-of-one")) })
  const byKind = (part, what) =>
    `${names.map((name) => `if kinds[${part}] == "${name}" then\n${what(name)}\n`).join("else")}end`
  const lanes = load(lua("lane-of-several"), {
    "widths of a part": [
      "kinds[parts], at = ARGV[at], at + 1",
      "local width, bytes",
      byKind("parts", widths),
    ].join("\n"),
    "plain part": byKind("part", plainPart),
    "told of a part": told(true),
  })
  return load(lua("lane"), { lanes: inBlock(lanes) })
}

/** What reads the state of all keys at once, if anything does. */
function reader(name) {
  const { read } = algorithms[name]
  return read === undefined ? "" : inBlock(load(read))
}

/** What writes down what is plain. */
function writer(name) {
  return algorithms[name].write === lua("write") ? `writers.${name} = write` : of(name, lua("writer"))
}

/** Answers asks under these algorithms. What is plain comes first and may return: what is not needed is not even defined. */
function ask(names, { further = false } = {}) {
  return [
    load(lua("clock")),
    lane(names),
    load(lua("writers")),
    ...names.map((name) => of(name, lua("look"))),
    ...names.map((name) => writer(name)),
    load(lua("plain"), { read: names.length === 1 ? reader(names[0]) : inBlock(load(lua("read-mixed"))) }),
    load(lua("record")),
    load(lua("state")),
    ...[...new Set(names.map((name) => algorithms[name].path))].map((path) => {
      const turns = further ? [load(`${path}-turns.lua`)] : []
      return inBlock([load(`${path}.lua`), ...turns].join("\n"))
    }),
    ...(further ? [load(lua("modes"))] : []),
    load(lua("ask")),
  ].join("\n")
}

const onRedisson = (name) => `${load("redisson/lua/state.lua")}\n${load(`redisson/lua/${name}.lua`)}`

const modules = {
  // one script for asks of any kind, and a shorter one for what most asks need of each algorithm
  "stores/redis/scripts.generated.ts": {
    ask: ask(Object.keys(algorithms), { further: true }),
    ...Object.fromEntries(Object.keys(algorithms).map((name) => [name, ask([name])])),
  },
  "redisson/scripts.generated.ts": {
    acquire: onRedisson("acquire"),
    availablePermits: onRedisson("available-permits"),
    setRate: onRedisson("set-rate"),
    getConfig: onRedisson("get-config"),
    giveBack: onRedisson("give-back"),
    delete: load("redisson/lua/delete.lua"),
  },
}

/** What is in a file, without comments, and with what its marks stand for. */
function load(path, marks = {}) {
  const text = readFileSync(new URL(path, folder), "utf8")
  if (/--\[=*\[/.test(text)) throw new Error(`${path}: block comments are not stripped, use -- on every line`)
  const lines = text.split("\n").map((line) => line.trim())
  return lines
    .map((line) => (line.startsWith("--@ ") ? meant(line.slice(4), path, marks) : line))
    .filter((line) => line !== "" && !line.startsWith("--"))
    .join("\n")
}

function meant(mark, path, marks) {
  if (mark.endsWith(".lua")) return inBlock(load(mark))
  if (marks[mark] === undefined) throw new Error(`${path}: nothing is known as "${mark}"`)
  return marks[mark]
}

/** Lines whose locals nobody else sees. */
function inBlock(lines) {
  return `do\n${lines}\nend`
}

function embed([name, source]) {
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
