// Builds packages/sluice/dist: ES modules, CommonJS modules under dist/cjs, and the types of both. Then packages/server/dist.
import { execFileSync } from "node:child_process"
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { transformSync } from "esbuild"

const root = fileURLToPath(new URL("..", import.meta.url))
const [library, server] = ["packages/sluice", "packages/server"]
const dist = join(root, library, "dist")
const cjs = join(dist, "cjs")

function tsc(project, ...options) {
  const args = [
    join(root, "node_modules/typescript/bin/tsc"),
    "-p",
    `${project}/tsconfig.build.json`,
    ...options,
  ]
  execFileSync(process.execPath, args, { cwd: root, stdio: "inherit" })
}

/** Prints the code of a file again without whitespace. Names stay, so that stack traces can be read. */
function shrink(file) {
  const { code } = transformSync(readFileSync(file, "utf8"), {
    target: "es2023",
    minifyWhitespace: true,
    minifySyntax: true,
  })
  writeFileSync(file, code)
}

const filesIn = (folder, ending) =>
  readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(ending))

/** Deletes the types that no entry point leads to. */
function keepReachableTypes() {
  const { exports } = JSON.parse(readFileSync(join(root, "packages/sluice/package.json"), "utf8"))
  const reached = new Set()
  const visit = (file) => {
    if (reached.has(file)) return
    reached.add(file)
    const imports = readFileSync(file, "utf8").matchAll(/(?:from |import\(|import )"(\.[^"]+)\.js"/g)
    for (const [, path] of imports) visit(join(dirname(file), `${path}.d.ts`))
  }
  for (const entry of Object.values(exports)) {
    if (entry.import) visit(join(root, "packages/sluice", entry.import.types))
  }
  for (const file of filesIn(dist, ".d.ts")) if (!reached.has(join(dist, file))) rmSync(join(dist, file))
}

/** Keeps each Lua text once: the ES modules take the texts from the CommonJS ones. */
function shareLua() {
  for (const file of filesIn(cjs, ".generated.js")) {
    const [here, there] = [join(dist, file), join(cjs, file)]
    const shared = `export { files } from "${relative(dirname(here), there)}";`
    const code = readFileSync(here, "utf8").replace(/^export const files = \{$.+?^\};$/ms, () => shared)
    if (!code.includes(shared)) throw new Error(`${file} exports no Lua files`)
    writeFileSync(here, code)
  }
}

execFileSync(process.execPath, ["scripts/embed-lua.mjs"], { cwd: root, stdio: "inherit" })
rmSync(dist, { recursive: true, force: true })
tsc(library, "--declaration", "--emitDeclarationOnly")
keepReachableTypes()
const types = filesIn(dist, ".d.ts")
tsc(library, "--removeComments")
tsc(
  library,
  ...["--removeComments", "--outDir", "packages/sluice/dist/cjs"],
  ...["--module", "commonjs", "--moduleResolution", "bundler", "--verbatimModuleSyntax", "false"],
)
// The same text: what a `.d.ts` is, a module or CommonJS, the nearest package.json says.
for (const file of types) cpSync(join(dist, file), join(cjs, file))
writeFileSync(join(cjs, "package.json"), `${JSON.stringify({ type: "commonjs", sideEffects: false })}\n`)
shareLua()
for (const file of filesIn(dist, ".js")) shrink(join(dist, file))

rmSync(join(root, server, "dist"), { recursive: true, force: true })
tsc(server, "--declaration")
chmodSync(join(root, server, "dist/main.js"), 0o755)
