import { readFileSync } from "node:fs"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import { startWorkers, type Workers } from "../support/workers.js"

let server: RedisServer
let workers: Workers<"go", string[]>
beforeAll(async () => {
  server = await startRedis()
  workers = await startWorkers("request-path-worker.ts", [String(server.port)], 1)
})
afterAll(async () => {
  await workers.kill()
  await server.stop()
})

/** The files that ARCHITECTURE.md lists for one request on Redis. */
function listed(): string[] {
  const text = readFileSync(new URL("../../../../ARCHITECTURE.md", import.meta.url), "utf8")
  const section = /## The path of one request\n([\s\S]*?)\n## /.exec(text)?.[1] ?? ""
  return [...section.matchAll(/^\| \d+ \| `([\w/.-]+\.ts)`/gm)].map(([, file]) => file as string).sort()
}

test("a warm tryAcquire on Redis runs through the files that ARCHITECTURE.md lists", async () => {
  const [files] = (await workers.work(["go"])) as [string[]]
  expect(files).toEqual(listed())
  expect(files.length).toBeLessThanOrEqual(18)
})
