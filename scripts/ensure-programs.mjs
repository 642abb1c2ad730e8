// Makes sure that the tests find the programs they start: a Redis server, what makes certificates for it and sets its clock,
// proxies, a browser, and the other JavaScript runtimes. Installs Debian's packages where it may, and says what to install elsewhere.
// With --server, for benchmarks, only the server.
import { spawn } from "node:child_process"
import { accessSync, constants, existsSync, readFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import { withoutServices } from "./without-services.mjs"

const serverOnly = process.argv.includes("--server")

function onPath(command) {
  // Debian has nginx in a folder that is on the PATH of root only.
  return [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin"].some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** Debian's packages that are missing. */
function missing() {
  const packages = []
  if (!onPath("redis-server") && !onPath("valkey-server")) packages.push("redis-server")
  if (serverOnly) return packages
  packages.push(...["openssl", "faketime", "curl", "nginx", "caddy"].filter((name) => !onPath(name)))
  const browsers = ["chromium", "chromium-browser", "google-chrome"]
  if (process.platform === "linux" && !browsers.some(onPath)) packages.push("chromium")
  return packages
}

function stop(message) {
  console.error(message)
  process.exitCode = 1
}

/** Runs a program to its end, and shows its output only if it fails. */
function run(program, args, options = {}) {
  return new Promise((resolve) => {
    let output = ""
    const child = spawn(program, args, options)
    child.stdout.on("data", (data) => (output += data))
    child.stderr.on("data", (data) => (output += data))
    child.on("error", (error) => (output += error.message))
    child.on("close", (code) => {
      if (code !== 0) console.error(output)
      resolve(code === 0)
    })
  })
}

const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" }
const apt = (...args) => run("apt-get", ["-q", ...args], { env })

async function ensurePackages() {
  const packages = missing()
  if (packages.length === 0) return
  const names = packages.join(", ")
  if (process.getuid?.() !== 0 || !onPath("apt-get")) {
    return stop(
      `Not on the PATH: ${names}: install that. Any redis-server from 7.0, or valkey-server, will do.`,
    )
  }
  console.log(`Not on the PATH: installing ${names} with apt-get ...`)
  const installed = await withoutServices(
    async () => (await apt("update")) && apt("install", "-y", "--no-install-recommends", ...packages),
  )
  if (!installed || missing().length > 0) stop(`apt-get could not install ${names}: install by hand.`)
}

/** The folder `runtimes` is no workspace: its `node` would be the one that npm's scripts run. */
async function ensureRuntimes() {
  if (process.platform !== "linux" || process.arch !== "x64") return
  const folder = fileURLToPath(new URL("../runtimes/", import.meta.url))
  const manifestOf = (path) => JSON.parse(readFileSync(join(folder, path, "package.json"), "utf8"))
  const isInstalled = ([name, version]) =>
    existsSync(join(folder, "node_modules", name)) &&
    version.endsWith(manifestOf(`node_modules/${name}`).version)
  if (Object.entries(manifestOf(".").optionalDependencies).every(isInstalled)) return
  console.log("Installing Node 22 and 24, Bun, Deno and workerd with npm, in the folder runtimes ...")
  if (!(await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: folder }))) {
    stop("npm could not install the runtimes: run `npm ci` in the folder runtimes.")
  }
}

await Promise.all(serverOnly ? [ensurePackages()] : [ensurePackages(), ensureRuntimes()])
