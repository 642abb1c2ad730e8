import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, inject, onTestFinished, test } from "vitest"
import { startRedis } from "../support/redis-server.js"
import { root, run } from "./consumer.js"

test("every block of code in the README and the docs compiles against the tarball and runs", {
  timeout: 400_000,
}, async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const folder = await mkdtemp(join(tmpdir(), "sluice-docs-"))
  onTestFinished(() => rm(folder, { recursive: true }))
  const url = `redis://127.0.0.1:${redis.port}`
  const printed = await run(root, "node", "scripts/run-docs.mjs", inject("tarball"), folder, url)
  const [, blocks, compiled] = /^(\d+) blocks: (\d+) compiled/.exec(printed) ?? []
  expect(Number(blocks)).toBeGreaterThan(60)
  expect(Number(compiled)).toBeGreaterThan(10)
})
