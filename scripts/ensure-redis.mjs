// Makes sure that the tests find a Redis server, what makes certificates for it, and what sets its clock: installs Debian's
// packages where it may, says what to install elsewhere. With --server, for benchmarks, only the server.
import { spawnSync } from "node:child_process"
import { accessSync, constants, existsSync, rmSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"

// Debian's hook: with this script in place, installing a package starts no service.
const policy = "/usr/sbin/policy-rc.d"

function onPath(command) {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => {
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
  const others = process.argv.includes("--server") ? [] : ["openssl", "faketime"]
  packages.push(...others.filter((name) => !onPath(name)))
  return packages
}

function stop(message) {
  console.error(message)
  process.exit(1)
}

function apt(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" }
  const { status, stdout, stderr } = spawnSync("apt-get", ["-q", ...args], { env, encoding: "utf8" })
  if (status !== 0) console.error(`${stdout}${stderr}`)
  return status === 0
}

function install(packages) {
  const ours = !existsSync(policy)
  if (ours) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 })
  try {
    return apt("update") && apt("install", "-y", "--no-install-recommends", ...packages)
  } finally {
    if (ours) rmSync(policy)
  }
}

const packages = missing()
if (packages.length > 0) {
  const names = packages.join(", ")
  if (process.getuid?.() !== 0 || !onPath("apt-get")) {
    stop(`Not on the PATH: ${names}: install that. Any redis-server from 7.0, or valkey-server, will do.`)
  }
  console.log(`Not on the PATH: installing ${names} with apt-get ...`)
  if (!install(packages) || missing().length > 0) stop(`apt-get could not install ${names}: install by hand.`)
}
