// Verifies what RELEASING.md lists, as far as a program can. Usage: check-release.mjs [--quick], which leaves out the slow steps.
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const read = (path) => readFileSync(join(root, path), "utf8")
const output = (program, ...args) => execFileSync(program, args, { cwd: root, encoding: "utf8" }).trim()
const passes = (program, ...args) => {
  execFileSync(program, args, { cwd: root, stdio: "inherit" })
  return undefined
}

const manifest = JSON.parse(read("packages/sluice/package.json"))
const { version } = manifest

/** What is wrong with the newest entry of a changelog; undefined if nothing is. */
export function wrongInChangelog(text, version, today) {
  const [, heading = "", body = ""] = /^## (.+)\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(text) ?? []
  if (heading !== `${version} (${today})`)
    return `its first heading is "${heading}", not "${version} (${today})"`
  return /^- /m.test(body) ? undefined : "it says nothing about this version"
}

/** Each step with what is wrong; undefined if nothing is. */
const steps = [
  ["the working tree is clean", () => output("git", "status", "--porcelain") || undefined],
  [
    `version ${version} is new`,
    () => {
      if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version)) return "not a version of semver"
      return output("git", "tag", "--list", `v${version}`) === "" ? undefined : `the tag v${version} exists`
    },
  ],
  [
    "the changelog has it",
    () => wrongInChangelog(read("CHANGELOG.md"), version, new Date().toISOString().slice(0, 10)),
  ],
  [
    "package.json names the public repository",
    () =>
      /github\.com/.test(JSON.stringify(manifest.repository ?? "")) ? undefined : "repository is missing",
  ],
  [
    "@sluice/server has the version, and depends on it",
    () => {
      const { version: own, dependencies } = JSON.parse(read("packages/server/package.json"))
      if (own === version && dependencies.sluice === version) return undefined
      return `packages/server/package.json is ${own} and depends on sluice ${dependencies.sluice}`
    },
  ],
  [
    "package-lock.json has the version",
    () => {
      const { packages } = JSON.parse(read("package-lock.json"))
      const locked = ["packages/sluice", "packages/server"].map((folder) => packages[folder].version)
      return locked.every((one) => one === version) ? undefined : `it has ${locked}: run npm install`
    },
  ],
]
const slow = [
  [
    "the tarball has its contents and sizes, attw and publint are clean",
    () => passes("npm", "run", "check:package"),
  ],
  [
    "the packed package works on every runtime, in every project, and in the docs",
    () => passes("npx", "vitest", "run", "--project", "package"),
  ],
]

function verify() {
  const failed = [...steps, ...(process.argv.includes("--quick") ? [] : slow)].filter(([what, check]) => {
    let wrong
    try {
      wrong = check()
    } catch (error) {
      wrong = error.message
    }
    console.log(wrong === undefined ? `✓ ${what}` : `✗ ${what}: ${wrong}`)
    return wrong !== undefined
  })
  console.log(
    failed.length === 0 ? "Ready: RELEASING.md says what is left to you." : `${failed.length} steps failed.`,
  )
  process.exitCode = failed.length === 0 ? 0 : 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) verify()
