import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, onTestFinished, test } from "vitest"
import { startRedis } from "../support/redis-server.js"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

/** Runs an example against the source of the library; rejects when it exits with another code than 0. */
async function run(example: string, env: Record<string, string> = {}): Promise<string[]> {
  const args = ["node_modules/tsx/dist/cli.mjs", "--tsconfig", "tsconfig.json", `examples/${example}`]
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env },
    timeout: 50_000,
  })
  return stdout.split("\n")
}

test("every example has a test here", () => {
  const examples = readdirSync(`${root}examples`).filter((file) => file.endsWith(".ts"))
  expect(examples.sort()).toEqual(["policies.ts", "quick-start.ts", "redis.ts", "redisson.ts"])
})

test("quick-start.ts lets three requests pass and tells the others when to come back", async () => {
  expect(await run("quick-start.ts")).toEqual([
    "request 1 passes, 2 left",
    "request 2 passes, 1 left",
    "request 3 passes, 0 left",
    expect.stringMatching(/^request 4 is refused, it would pass in \d+ ms$/),
    expect.stringMatching(/^request 5 is refused, it would pass in \d+ ms$/),
    "",
  ])
})

test("policies.ts draws a lane per policy and counts what passed, without a terminal in plain text", async () => {
  const lines = await run("policies.ts", { SLUICE_DEMO_SECONDS: "1" })
  expect(lines.join("\n")).not.toContain("\x1b")
  expect(lines).toContainEqual(expect.stringMatching(/^ requests +·1·1 +room +passed$/))
  const policies = ["fixedWindow", "slidingLog", "slidingWindow", "tokenBucket", "leakyBucket"]
  for (const policy of policies) {
    expect(lines).toContainEqual(
      expect.stringMatching(new RegExp(`^ ${policy} +·●·● +■{6,7}□{1,2} +2 of 2$`)),
    )
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^ ${policy} +2 +0 +2 {2}\\S`)))
  }
})

test("redis.ts charges each plan by number and size of calls", async () => {
  const server = await startRedis()
  onTestFinished(() => server.stop())
  const lines = await run("redis.ts", { REDIS_URL: server.url })
  expect(lines).toEqual([
    "free:ann    4000 tokens  passes   6000 tokens left",
    "free:ann    4000 tokens  passes   2000 tokens left",
    expect.stringMatching(/^free:ann {4}4000 tokens {2}refused {2}by tokens for \d+ s$/),
    "free:ann    1000 tokens  passes   0 requests left",
    "free:ann   60000 tokens  refused  never fits tokens",
    expect.stringMatching(/^pro:bob {5}4000 tokens {2}passes {3}\d{5} tokens left$/),
    expect.stringMatching(/^pro:bob {5}4000 tokens {2}passes {3}\d{5} tokens left$/),
    expect.stringMatching(/^pro:bob {5}4000 tokens {2}passes {3}\d{5} tokens left$/),
    expect.stringMatching(/^pro:bob {5}1000 tokens {2}passes {3}\d{5} tokens left$/),
    "pro:bob    60000 tokens  refused  never fits tokens",
    "",
  ])
})

test("redisson.ts shares a limit and waits for its turn", async () => {
  const server = await startRedis()
  onTestFinished(() => server.stop())
  expect(await run("redisson.ts", { REDIS_URL: server.url })).toEqual([
    "3 permits: granted, 2 left",
    "2 permits: granted, 0 left",
    expect.stringMatching(/^4 permits: refused, they can be had in (9\d\d|1000) ms$/),
    "4 permits within 10 ms: refused",
    "4 permits: granted after a wait",
    "",
  ])
})

test("redis.ts says what is wrong where no Redis listens", async () => {
  const server = await startRedis()
  await server.stop()
  const failure = { code: 1, stderr: expect.stringMatching(/^STORE_REFUSED: .* REDIS_URL tells where/) }
  await expect(run("redis.ts", { REDIS_URL: server.url })).rejects.toMatchObject(failure)
})
