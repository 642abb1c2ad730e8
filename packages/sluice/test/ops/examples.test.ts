import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, test } from "vitest"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

async function run(example: string): Promise<string[]> {
  const args = ["node_modules/tsx/dist/cli.mjs", "--tsconfig", "tsconfig.json", `examples/ops/${example}`]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, timeout: 50_000 })
  return stdout.trim().split("\n")
}

test("every example has a test here, and its guide links to it", () => {
  expect(readdirSync(`${root}examples/ops`).sort()).toEqual(["metrics.ts", "rollout.ts", "rules.ts"])
  for (const name of ["metrics", "rollout", "rules"]) {
    expect(readFileSync(`${root}docs/${name}.md`, "utf8")).toContain(`../examples/ops/${name}.ts`)
  }
})

test("metrics.ts prints what a scrape would see", async () => {
  expect(await run("metrics.ts")).toEqual([
    'sluice_decisions_total{limiter="api",policy="default",outcome="allowed",source="store"} 3',
    'sluice_decisions_total{limiter="api",policy="default",outcome="denied",source="store"} 2',
    'sluice_policy_limit{limiter="api",policy="default"} 3',
  ])
})

test("rollout.ts observes, reports and enforces", async () => {
  expect(await run("rollout.ts")).toEqual([
    "observe: 10 of 10 pass",
    "observe: 2 of 2 pass",
    "default: 7 of 12 requests would have been denied",
    "  ann: 7",
    "enforce: 0 of 10 pass",
  ])
})

test("rules.ts raises, blocks and tells the history", async () => {
  expect(await run("rules.ts")).toEqual([
    "acme: 3 of 10 pass",
    "acme, raised to 8: 5 more pass",
    "scraper:1 is denied by a rule, for Infinity ms",
    "default: 0 of 8 left, the next request passes in … ms, nothing spent in … ms",
    "bob: block scraper:*, abuse report",
    "ann: limit acme, launch week",
  ])
})
