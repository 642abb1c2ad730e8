// Takes a packed tarball and an empty folder, extracts every block of TypeScript and JavaScript from the tarball's README and
// docs, compiles all of them against the package, and runs them. Usage: run-docs.mjs <tarball> <empty folder> <url of Redis>
//
// - A block that is quoted from a file under examples/ is tested by compiling and running that file.
// - Any other block runs as it is. Names that it does not define come from docs-scope.mjs.
// - `<!-- compiled only: reason -->` on the line before a block compiles it; `<!-- not code: reason -->` leaves it out.
import { execFile, spawn } from "node:child_process"
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { transformSync } from "esbuild"
import { entryPoints, imports, values } from "./docs-scope.mjs"

const root = fileURLToPath(new URL("..", import.meta.url))
const [tarball, folder, redisUrl] = process.argv.slice(2)
if (redisUrl === undefined || readdirSync(folder).length > 0) {
  console.error("Usage: run-docs.mjs <tarball> <empty folder> <url of Redis>")
  process.exit(2)
}
const env = { ...process.env, REDIS_URL: redisUrl, PORT: "0", SLUICE_DEMO_SECONDS: "1" }
const under = (path, ending) =>
  readdirSync(path, { recursive: true })
    .filter((file) => ending.test(file))
    .map((file) => join(path, file))

function run(program, ...args) {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd: folder, env, timeout: 120_000 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${program} ${args.join(" ")}\n${stdout}${stderr}`))
      else resolve(stdout)
    })
  })
}

/** A project with the package from its tarball. Everything else is linked from the repository's node_modules. */
async function makeProject() {
  mkdirSync(join(folder, "node_modules"))
  await run("tar", "-xzf", tarball)
  cpSync(join(folder, "package"), join(folder, "node_modules/sluice"), { recursive: true })
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (name === "sluice" || name.startsWith(".")) continue
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name))
  }
  cpSync(join(root, "examples"), join(folder, "examples"), {
    recursive: true,
    filter: (path) => !/node_modules|tsconfig/.test(relative(root, path)),
  })
  mkdirSync(join(folder, "blocks"))
  const compilerOptions = {
    ...{
      strict: true,
      skipLibCheck: true,
      target: "es2023",
      module: "nodenext",
      allowJs: true,
      checkJs: false,
    },
    ...{ lib: ["es2023", "esnext.disposable"], types: ["node"], moduleDetection: "force" },
    ...{ experimentalDecorators: true, outDir: "out", rootDir: "." },
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }))
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions, include: ["examples", "blocks"] }),
  )
}

/** The blocks of code in a page. */
function blocksOf(file) {
  const page = relative(join(folder, "package"), file)
  const text = readFileSync(file, "utf8")
  const found = text.matchAll(
    /(?:<!-- (compiled only|not code): [^\n]*-->\n+)?^```(ts|tsx|js|mjs)\b[^\n]*\n([\s\S]*?)^```/gm,
  )
  return [...found].map(({ 1: mark, 2: language, 3: code, index }) => {
    const line = text.slice(0, index).split("\n").length
    return { page, line, mark, language, code }
  })
}

const plain = (text) => text.replaceAll(/^ +/gm, "").trim()

/** Each name that a fragment may use, with the import or the line that defines it. */
async function scope() {
  const names = new Map()
  for (const [module, listed] of Object.entries(imports))
    for (const name of listed) names.set(name, { module })
  for (const [entry, types] of Object.entries(entryPoints)) {
    const manifest = JSON.parse(readFileSync(join(folder, "package/package.json"), "utf8"))
    const path = manifest.exports[entry.replace("sluice", ".")].import.default
    const module = await import(pathToFileURL(join(folder, "node_modules/sluice", path)).href)
    for (const name of Object.keys(module)) if (!names.has(name)) names.set(name, { module: entry })
    for (const name of types) names.set(name, { module: entry, type: true })
  }
  for (const [name, line] of Object.entries(values)) names.set(name, { line })
  return names
}

/** A module that runs a block: imports first, then what it does not define, then the block in a function of its own. */
function moduleOf({ language, code }, names) {
  const isScript = language === "ts" || language === "tsx"
  const own = [...code.matchAll(/^import [\s\S]*?from "[^"]+"$/gm)].map(([line]) => line)
  const body = code
    .replaceAll(/^import [\s\S]*?from "[^"]+"$/gm, "")
    .replaceAll('host: "127.0.0.1"', `host: "127.0.0.1", port: ${new URL(redisUrl).port}`)
    .replaceAll(/"redis:\/\/[^"]*"/g, JSON.stringify(redisUrl))
  const isDefined = (name) => new RegExp(`\\b${name}\\b`).test(own.join("\n"))
  const isExported = /^export /m.test(body)
  const needed = new Set()
  const need = (text) => {
    for (const [name, { line }] of names) {
      if (
        needed.has(name) ||
        isDefined(name) ||
        !new RegExp(`(?<![\\w$])(?<!(?<!\\.\\.)\\.)${name}\\b(?!:)`).test(text)
      )
        continue
      if (isExported && new RegExp(`(const|function|class) ${name}\\b`).test(body)) continue
      needed.add(name)
      if (line) need(line.replace(`const ${name}`, ""))
    }
  }
  need(body)
  const imported = [...names]
    .filter(([name, { module }]) => needed.has(name) && module)
    .map(([name, { module, type }]) => `import { ${type ? "type " : ""}${name} } from "${module}"`)
  const lines = [...names].filter(([name, { line }]) => needed.has(name) && line).map(([, { line }]) => line)
  const prelude = isScript ? lines : [transformSync(lines.join("\n"), { loader: "ts" }).code]
  const rest = isExported
    ? body
    : `async function block()${isScript ? ": Promise<unknown>" : ""} {\n${body}\nreturn undefined\n}\nawait block()`
  return [...own, ...imported, ...prelude, rest, isExported ? "" : "export {}"].join("\n")
}

/** Runs an example: to its end, or until it says where it listens. A test of vitest is run by vitest. */
function runExample(example) {
  if (example.endsWith(".test.ts")) {
    return run(
      process.execPath,
      join(root, "node_modules/vitest/vitest.mjs"),
      "run",
      "--root",
      folder,
      example,
    )
  }
  return new Promise((resolve, reject) => {
    const file = join("out", example.replace(/\.ts$/, ".js"))
    const child = spawn(process.execPath, [file], { cwd: folder, env })
    const timer = setTimeout(() => child.kill("SIGKILL"), 60_000)
    let output = ""
    let isDone = false
    const onData = (data) => {
      output += data
      isDone ||= /^http:\/\/\S+$/m.test(output)
      if (isDone) child.kill("SIGKILL")
    }
    child.stdout.on("data", onData)
    child.stderr.on("data", onData)
    child.on("close", (code) => {
      clearTimeout(timer)
      if (isDone || code === 0) resolve(output)
      else reject(new Error(`${example} ended with ${code}\n${output}`))
    })
  })
}

/** All blocks in one process, one after the other. */
const runner = `
  import { Redis } from "ioredis"
  const redis = new Redis(process.env.REDIS_URL)
  process.on("unhandledRejection", (error) => { console.error(error); process.exit(1) })
  for (const block of JSON.parse(process.argv[2])) {
    await redis.flushall()
    const late = setTimeout(() => { console.error(block.where + " did not end within 20 s"); process.exit(1) }, 20_000)
    try {
      await import(block.file)
    } catch (error) {
      console.error(block.where, error)
      process.exit(1)
    }
    clearTimeout(late)
  }
  process.exit(0)
`

await makeProject()
const examples = under(join(folder, "examples"), /\.tsx?$/).map((file) => relative(folder, file))
const texts = new Map(examples.map((file) => [file, plain(readFileSync(join(folder, file), "utf8"))]))
const pages = [join(folder, "package/README.md"), ...under(join(folder, "package/docs"), /\.md$/)]
const blocks = pages.flatMap(blocksOf).filter(({ mark }) => mark !== "not code")
const quoted = new Set()
const own = []
for (const block of blocks) {
  const source = examples.find((file) => texts.get(file).includes(plain(block.code)))
  if (source === undefined) own.push(block)
  else quoted.add(source)
}

const names = await scope()
for (const [i, block] of own.entries()) {
  block.name = `${block.page.replaceAll(/\W/g, "-")}-${block.line}-${i}.${/^t/.test(block.language) ? "ts" : "js"}`
  writeFileSync(join(folder, "blocks", block.name), moduleOf(block, names))
}
try {
  await run(process.execPath, join(root, "node_modules/typescript/bin/tsc"))
  writeFileSync(join(folder, "runner.mjs"), runner)
  const toRun = own
    .filter(({ mark }) => mark !== "compiled only")
    .map(({ name, page, line }) => ({
      file: `./out/blocks/${name.replace(/ts$/, "js")}`,
      where: `${page}:${line}`,
    }))
  await run(process.execPath, "runner.mjs", JSON.stringify(toRun))
  const queue = [...quoted].sort()
  const work = async () => {
    for (let example = queue.shift(); example !== undefined; example = queue.shift())
      await runExample(example)
  }
  await Promise.all([work(), work()])
  console.log(
    `${blocks.length} blocks: ${own.length} compiled, ${toRun.length} of them run, the others in ${quoted.size} examples`,
  )
} catch (error) {
  console.error(error.message)
  console.error(
    "A name that is missing goes into scripts/docs-scope.mjs. A block that cannot run is marked: see scripts/run-docs.mjs.",
  )
  process.exitCode = 1
}
