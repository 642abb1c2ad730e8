import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, onTestFinished, test } from "vitest"
import { startRedis } from "../support/redis-server.js"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

/** Runs an example against the source of the library. Rejects if its exit code is not 0. */
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
  expect(examples.sort()).toEqual([
    "llm-budget.ts",
    "partner-api.ts",
    "pay-for-stream.ts",
    "policies.ts",
    "quick-start.ts",
    "redis.ts",
    "redisson.ts",
    "waiting.ts",
  ])
})

test("quick-start.ts allows three requests and tells the others when to retry", async () => {
  expect(await run("quick-start.ts")).toEqual([
    "request 1 passes, 2 left",
    "request 2 passes, 1 left",
    "request 3 passes, 0 left",
    expect.stringMatching(/^request 4 is denied, it would pass in \d+ ms$/),
    expect.stringMatching(/^request 5 is denied, it would pass in \d+ ms$/),
    "",
  ])
})

test("policies.ts draws a lane per policy and counts the allowed requests, in plain text without a terminal", async () => {
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

test.each(["redis.ts", "partner-api.ts", "redisson.ts"])(
  "%s reports a clear error if no Redis listens",
  async (example) => {
    const server = await startRedis()
    await server.stop()
    const failure = { code: 1, stderr: expect.stringMatching(/^STORE_REFUSED: .* REDIS_URL tells where/) }
    await expect(run(example, { REDIS_URL: server.url })).rejects.toMatchObject(failure)
  },
)

test("partner-api.ts calls evenly from four processes and is never denied", async () => {
  const server = await startRedis()
  onTestFinished(() => server.stop())
  const lines = await run("partner-api.ts", { REDIS_URL: server.url })
  const seconds = lines.filter((line) => /^\d s {2}[ABCD]*$/.test(line))
  expect(seconds.length).toBeGreaterThanOrEqual(2)
  const calls = seconds.flatMap((line) => line.slice(5).split("")).sort()
  expect(calls.join("")).toBe("A".repeat(12) + "B".repeat(12) + "C".repeat(12) + "D".repeat(12))
  const [, apart] = /^48 calls, (\d+) ms apart on average, 0 refused$/.exec(lines.at(-2) ?? "") ?? []
  // 96 in 5 s. A slow first or last call makes it a little less or more.
  expect(Number(apart)).toSatisfy((ms: number) => ms >= 45 && ms <= 90)
})

test("llm-budget.ts gives unused tokens back, and waits until its debt is paid", async () => {
  const told = (await run("llm-budget.ts")).map((line) => line.replace(/^ *\d+\.\d s {2}/, ""))
  const left = (requests: number) => `${requests} requests and \\d+ tokens left$`
  const matching = (text: string) => expect.stringMatching(new RegExp(`^${text}`))
  expect(told).toEqual([
    "an answer shorter than its estimate: the rest is given back",
    matching(`400 tokens reserved, ${left(59)}`),
    matching(`100 tokens used, ${left(59)}`),
    "a call that the model refuses: all of it is given back",
    matching(`400 tokens reserved, ${left(58)}`),
    matching(`the model answered 429, ${left(59)}`),
    "a client that disconnects before the end: it pays for what was streamed",
    matching(`400 tokens reserved, ${left(59)}`),
    matching(`the client has disconnected, 59 requests and 7\\d\\d tokens left`),
    "an answer longer than its estimate: what there is no room for is owed",
    matching(`400 tokens reserved, ${left(58)}`),
    matching(`1600 tokens used, 58 requests and 0 tokens left`),
    "the next one waits until that is paid",
    matching("400 tokens do not fit tokens for \\d{4} ms: waits$"),
    matching("400 tokens reserved, "),
    matching("400 tokens used, "),
    "an organisation and one of its users together: both are charged, or neither",
    "reserved: true",
    "750 tokens left",
    "",
  ])
})

test("waiting.ts gets its turns in order, aborts one, and reports a full queue", async () => {
  const told = (await run("waiting.ts")).map((line) => line.replace(/^\d+ ms: /, ""))
  expect(told).toEqual([
    "the first is sent at once",
    "the second has waited",
    "refused, its turn would come in more than 50 ms: true",
    "the fourth: nobody wants it any more",
    "the fifth has the turn that the fourth gave up",
    expect.stringMatching(/^of twenty at once (9|1\d) had a turn$/),
    "the others: QUEUE_FULL",
    "",
  ])
})
