// Makes sure that the tests find a Redis server: installs Debian's where it may, says what to install elsewhere.
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

const present = () => onPath("redis-server") || onPath("valkey-server")

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

function install() {
  const ours = !existsSync(policy)
  if (ours) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 })
  try {
    return apt("update") && apt("install", "-y", "--no-install-recommends", "redis-server")
  } finally {
    if (ours) rmSync(policy)
  }
}

if (!present()) {
  if (process.getuid?.() !== 0 || !onPath("apt-get")) {
    stop("The tests need a Redis server: install redis-server (7.0 or later) or valkey-server on the PATH.")
  }
  console.log("No Redis server on the PATH: installing redis-server with apt-get ...")
  if (!install() || !present()) stop("apt-get could not install redis-server: install it by hand.")
}
