import { type Job, Queue, Worker } from "bullmq"
import { Redis } from "ioredis"
import { createLimiter, slidingLog } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest"
import { limitedByGroup } from "../../../../examples/integrations/bullmq.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis({ host: "127.0.0.1", port: server.port })
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

test("the BullMQ example limits each group, and a group over its limit does not hold up another", async () => {
  const window = 1_000
  const store = redisStore(ioredis(client))
  const limiter = createLimiter({ name: "jobs", policy: slidingLog({ limit: 2, window }), store })
  const connection = { host: "127.0.0.1", port: server.port }
  const queue = new Queue<{ group: string }>("mail", { connection })
  const done: { group: string; at: number; attempts: number }[] = []
  const process = limitedByGroup(limiter, async (job: Job<{ group: string }>) => {
    done.push({ group: job.data.group, at: performance.now(), attempts: job.attemptsMade })
  })
  await queue.addBulk(
    ["busy", "busy", "busy", "busy", "busy", "busy", "quiet"].map((group) => ({
      name: "send",
      data: { group },
    })),
  )
  // Two workers, as in two processes.
  const workers = [0, 1].map(() => new Worker("mail", process, { connection, concurrency: 5 }))
  onTestFinished(async () => {
    for (const worker of workers) await worker.close()
    await queue.close()
  })
  for (const worker of workers) worker.on("error", () => {})

  await expect.poll(() => done.length, { timeout: 20_000 }).toBe(7)
  const busy = done.filter(({ group }) => group === "busy").map(({ at }) => at)
  expect(busy).toHaveLength(6)
  // Six jobs of two a window need two more windows after the first. The times are taken after the decisions.
  expect((busy[5] as number) - (busy[0] as number)).toBeGreaterThan(2 * window - 300)
  // The job of the quiet group, added last, did not wait for the busy one.
  expect(done.findIndex(({ group }) => group === "quiet")).toBeLessThan(3)
  expect(done.every(({ attempts }) => attempts === 0)).toBe(true)
  expect(await queue.getJobCounts("failed", "delayed", "active", "waiting")).toEqual({
    failed: 0,
    delayed: 0,
    active: 0,
    waiting: 0,
  })
})
