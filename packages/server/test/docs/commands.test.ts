import { execFile } from "node:child_process"
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type RedisServer, startRedis } from "../../../sluice/test/support/redis-server.js"
import { temporaryFolder } from "../support/folder.js"
import { root } from "../support/program.js"
import { sluice, startService } from "../support/service.js"

const run = promisify(execFile)

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

/** The pages with commands, and the files that they name, taken from the page or the repository. */
const pages: readonly { page: string; files: Readonly<Record<string, string>>; config: string }[] = [
  {
    page: "docs/command-line.md",
    files: { "sample.yaml": "packages/server/sample.yaml" },
    config: "sample.yaml",
  },
  {
    page: "docs/service.md",
    files: { "sluice.yaml": "packages/server/sample.yaml" },
    config: "sluice.yaml",
  },
  { page: "docs/envoy.md", files: { "edge.yaml": "first YAML block" }, config: "edge.yaml" },
  {
    page: "docs/proxies.md",
    files: { "examples/proxies/sluice.yaml": "examples/proxies/sluice.yaml" },
    config: "examples/proxies/sluice.yaml",
  },
  {
    page: "packages/server/README.md",
    files: { "sluice.yaml": "packages/server/sample.yaml" },
    config: "sluice.yaml",
  },
]

const textOf = (page: string) => readFileSync(join(root, page), "utf8")
const blocksOf = (page: string, language: string) =>
  [...textOf(page).matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))].map(
    ([, code]) => code as string,
  )

/** The commands of a page. A block that begins with curl may have one command over several lines. */
const commandsOf = (page: string) =>
  blocksOf(page, "sh").flatMap((block) =>
    block.startsWith("curl") ? [block.trim()] : block.trim().split("\n"),
  )

test.each(pages)("every command of $page runs", { timeout: 300_000 }, async ({ page, files, config }) => {
  const folder = temporaryFolder()
  for (const [name, source] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true })
    if (source === "first YAML block") writeFileSync(join(folder, name), blocksOf(page, "yaml")[0] ?? "")
    else copyFileSync(join(root, source), join(folder, name))
  }
  const service = await startService(["--config", join(folder, config)])
  const env = {
    ...process.env,
    PATH: `${shims(folder)}:${process.env["PATH"]}`,
    SLUICE_SERVER: service.url,
    REDIS_URL: redis.url,
  }
  for (const command of commandsOf(page)) {
    const text = command
      .replaceAll("http://127.0.0.1:8080", service.url)
      .replaceAll("redis://localhost:6379", redis.url)
      .replaceAll(/^curl/gm, "curl -sS --fail-with-body")
    const serving = /^(?:npx @sluice\/server|npx sluice|sluice) (serve.*)$/.exec(text)?.[1]
    if (serving !== undefined) await serves(serving.split(" "), folder)
    else
      await expect(
        run("bash", ["-e", "-o", "pipefail", "-c", text], { cwd: folder, env }),
        text,
      ).resolves.toBeDefined()
  }
})

/** Starts the server as a page says, on free ports, and stops it when it listens. */
async function serves(args: readonly string[], folder: string): Promise<void> {
  const local = args.map((arg) => (arg.endsWith(".yaml") ? join(folder, arg) : arg))
  const program = sluice([...local, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"])
  const isListening = () => program.stdout.includes("HTTP listens")
  await expect.poll(() => isListening() || !program.isRunning, { timeout: 30_000 }).toBe(true)
  expect(program.isRunning, program.stderr).toBe(true)
  program.signal("SIGTERM")
  expect(await program.ended).toBe(0)
}

/** A folder with the command `sluice`, run from the sources. */
function shims(folder: string): string {
  const bin = join(folder, "bin")
  mkdirSync(bin)
  const main = join(root, "packages/server/src/main.ts")
  const tsx = join(root, "node_modules/.bin/tsx")
  writeFileSync(
    join(bin, "sluice"),
    `#!/bin/sh\nexec ${tsx} --tsconfig ${join(root, "tsconfig.json")} ${main} "$@"\n`,
  )
  chmodSync(join(bin, "sluice"), 0o755)
  return bin
}
