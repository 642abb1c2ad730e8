// Packs both packages once and checks the tarballs. Of sluice: its types (attw), its manifest (publint) and its sizes. Of @sluice/server: its
// manifest, and that its command runs where only the two tarballs are installed.
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "sluice-check-"))
const run = (program, ...args) =>
  execFileSync(program, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] })
const bin = (name) => join(root, "node_modules/.bin", name)

try {
  run("npm", "pack", "--silent", "--workspace", "sluice", "--pack-destination", folder)
  const tarball = join(folder, readdirSync(folder)[0])
  run(
    "npm",
    "pack",
    "--silent",
    "--ignore-scripts",
    "--workspace",
    "@sluice/server",
    "--pack-destination",
    folder,
  )
  const server = join(
    folder,
    readdirSync(folder).find((name) => name.startsWith("sluice-server")),
  )
  run("tar", "-xzf", tarball, "-C", folder)
  // node16 leaves out node10, TypeScript's resolution without exports, which no subpath can support.
  run(bin("attw"), tarball, "--profile", "node16", "--format", "ascii")
  run(bin("publint"), tarball, "--strict")
  run(process.execPath, "scripts/check-size.mjs", join(folder, "package"), tarball)
  run(bin("publint"), server, "--strict")
  const installed = join(folder, "installed")
  run(
    "npm",
    "install",
    "--silent",
    "--no-audit",
    "--no-fund",
    "--prefer-offline",
    "--prefix",
    installed,
    tarball,
    server,
  )
  const command = join(installed, "node_modules/.bin/sluice")
  run(command, "validate", join(installed, "node_modules/@sluice/server/sample.yaml"))
  run(command, "serve", "--print-config")
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true })
}
