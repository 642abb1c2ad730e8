import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { chromium } from "playwright-core"
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import { createConsumer, root, run } from "./consumer.js"
import { coreResults, redisResults } from "./exercise.js"
import { findChromium, hasRuntimes, runtimes, workerd } from "./runtimes.js"

const packed = inject("packed")
const exercise = readFileSync(fileURLToPath(new URL("exercise.js", import.meta.url)), "utf8")

/** Imports every entry point that needs no framework, and prints what came of the exercises. */
const main = `
  import * as ioredisModule from "ioredis"
  import * as sluice from "sluice"
  import { limitedFetch } from "sluice/fetch"
  import { clientKey } from "sluice/http"
  import * as redis from "sluice/redis"
  import { redissonRateLimiter } from "sluice/redisson"
  import { conformance } from "sluice/testing"
  import { rateLimit } from "sluice/web"
  import { exerciseCore, exerciseRedis } from "./exercise.js"
  const [port, name] = process.argv.slice(-2)
  const policy = sluice.fixedWindow({ limit: 1, window: "1m" })
  const handler = rateLimit({ policy, key: () => "client" })(() => new Response("hello"))
  const statuses = [await handler(new Request("http://x/")), await handler(new Request("http://x/"))].map(({ status }) => status)
  console.log(JSON.stringify({
    core: await exerciseCore(sluice),
    redis: await exerciseRedis(sluice, redis, ioredisModule, Number(port), name),
    statuses,
    exported: [limitedFetch, clientKey, redissonRateLimiter, conformance].every((each) => each !== undefined),
  }))
`

/** The same package by require, beside the import: both copies in one process. */
const required = `
  const sluice = require("sluice")
  import("./exercise.js")
    .then(({ exerciseCore }) => exerciseCore(sluice))
    .then((core) => console.log(JSON.stringify(core)))
`

describe("the packed package", () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.stop())

  test.each(runtimes)("runs on $name, with the core, HTTP and Redis", async ({ name, command }) => {
    await using consumer = await createConsumer(packed, { "main.js": main, "exercise.js": exercise })
    await symlink(join(root, "node_modules/ioredis"), join(consumer.folder, "node_modules/ioredis"))
    const [program, ...args] = command
    const printed = await run(consumer.folder, program, ...args, "main.js", `${redis.port}`, name)
    expect(JSON.parse(printed)).toEqual({
      core: coreResults,
      redis: redisResults,
      statuses: [200, 429],
      exported: true,
    })
  })

  test.each(runtimes)("runs on $name by require", async ({ command }) => {
    await using consumer = await createConsumer(packed, { "main.cjs": required, "exercise.js": exercise })
    const [program, ...args] = command
    expect(JSON.parse(await run(consumer.folder, program, ...args, "main.cjs"))).toEqual(coreResults)
  })
})

test.skipIf(!hasRuntimes)("the packed package, bundled, runs as a Worker on workerd", async () => {
  await using consumer = await createConsumer(packed, { "exercise.js": exercise })
  const { folder } = consumer
  const worker = `
    import * as sluice from "sluice"
    import { rateLimit } from "sluice/web"
    import { exerciseCore } from "./exercise.js"
    const policy = sluice.fixedWindow({ limit: 2, window: "1m" })
    const limited = rateLimit({ policy, key: (request) => request.headers.get("x-client") })
    export default { fetch: limited(async () => Response.json(await exerciseCore(sluice))) }
  `
  await writeFile(join(folder, "entry.js"), worker)
  await build({
    absWorkingDir: folder,
    entryPoints: ["entry.js"],
    outfile: join(folder, "worker.js"),
    bundle: true,
    format: "esm",
    platform: "browser",
    conditions: ["workerd", "worker"],
  })
  await writeFile(
    join(folder, "config.capnp"),
    `using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [(name = "main", worker = .main)],
      sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
    );
    const main :Workerd.Worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "2026-01-01",
    );`,
  )
  // It writes the port that it listens on to file descriptor 3.
  const child = spawn(workerd, ["serve", "config.capnp", "--control-fd=3"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  })
  try {
    const address = `http://127.0.0.1:${await listeningPort(child)}/`
    const headers = { "x-client": "one" }
    const answers = [await fetch(address, { headers }), await fetch(address, { headers })]
    expect(await answers[0]?.json()).toEqual(coreResults)
    expect(answers[1]?.status).toBe(200)
    const denied = await fetch(address, { headers })
    expect([denied.status, denied.headers.get("retry-after")]).toEqual([429, "60"])
    expect((await fetch(address, { headers: { "x-client": "two" } })).status).toBe(200)
  } finally {
    child.kill("SIGKILL")
  }
})

/** The port that a workerd process says it listens on. */
function listeningPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = ""
    const errors: string[] = []
    child.stderr?.on("data", (data) => errors.push(`${data}`))
    child.stdio[3]?.on("data", (data) => {
      output += data
      const port = /"port":\s*(\d+)/.exec(output)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
    child.on("exit", (code) => reject(new Error(`workerd ended with ${code}: ${errors.join("")}`)))
    child.on("error", reject)
  })
}

test.skipIf(process.platform !== "linux")(
  "the core runs in Chromium, as modules without a bundler",
  async () => {
    const executablePath = findChromium()
    if (executablePath === undefined)
      throw new Error("no Chromium on the PATH: node scripts/ensure-programs.mjs")
    const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] })
    try {
      const page = await browser.newPage()
      // Nothing leaves the machine: each file comes from the unpacked tarball.
      await page.route("**/*", async (route) => {
        const { pathname } = new URL(route.request().url())
        const body =
          pathname === "/"
            ? ""
            : pathname === "/exercise.js"
              ? exercise
              : readFileSync(join(packed, pathname))
        const contentType = pathname === "/" ? "text/html" : "text/javascript"
        await route.fulfill({ body, contentType })
      })
      await page.goto("http://sluice.test/")
      const results = await page.evaluate(`(async () => {
      const sluice = await import("/dist/index.js")
      const { exerciseCore } = await import("/exercise.js")
      return exerciseCore(sluice)
    })()`)
      expect(results).toEqual(coreResults)
    } finally {
      await browser.close()
    }
  },
)
