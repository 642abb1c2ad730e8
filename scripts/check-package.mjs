// Packs the package once and checks the tarball: its types (attw), its manifest (publint) and its sizes.
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
  run("tar", "-xzf", tarball, "-C", folder)
  // node16 leaves out node10, TypeScript's resolution without exports, which no subpath can support.
  run(bin("attw"), tarball, "--profile", "node16", "--format", "ascii")
  run(bin("publint"), tarball, "--strict")
  run(process.execPath, "scripts/check-size.mjs", join(folder, "package"), tarball)
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true })
}
