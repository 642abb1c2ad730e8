// Runs all tests with coverage. Says first how long that takes: as long as the last time here, or an estimate.
import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const note = fileURLToPath(new URL("../node_modules/.cache/sluice/test-seconds", import.meta.url))

function estimate() {
  try {
    return `the last full run here took ${Math.ceil(Number(readFileSync(note, "utf8")) / 60)} minutes`
  } catch {
    return `expect 10 to 20 minutes on two cores, and this machine has ${availableParallelism()}`
  }
}

const more = process.argv.slice(2)
console.log(
  `All tests, on Redis servers of their own: ${estimate()}. Without Redis, in under a minute: npm run test:unit`,
)
const start = performance.now()
const { status } = spawnSync(
  process.execPath,
  [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--coverage",
    "--reporter=default",
    "--reporter=./scripts/progress.mjs",
    ...more,
  ],
  { cwd: root, stdio: "inherit" },
)
if (status === 0 && more.length === 0) {
  mkdirSync(dirname(note), { recursive: true })
  writeFileSync(note, `${(performance.now() - start) / 1_000}`)
}
process.exitCode = status ?? 1
