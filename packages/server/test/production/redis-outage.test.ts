import { setTimeout as delay } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type RedisServer, startRedis } from "../../../sluice/test/support/redis-server.js"
import { until } from "../../../sluice/test/support/server-process.js"
import { temporaryFile } from "../support/folder.js"
import { acquire, keepAlive, type Reply, send } from "../support/http.js"
import { startService } from "../support/service.js"

const DEADLINE = 300
/** How much longer than the deadline a response may take, in milliseconds. Other tests use the same cores. */
const MARGIN = 1_500

const text = `limiters:
  throw: { policy: &policy { algorithm: tokenBucket, capacity: 1000000, refill: 1000, every: 1s } }
  open: { policy: *policy, outage: { deadline: ${DEADLINE}ms, then: open } }
  closed: { policy: *policy, outage: { deadline: ${DEADLINE}ms, then: closed } }
  local:
    policy: { algorithm: tokenBucket, capacity: 1000, refill: 1, every: 1h }
    outage: { deadline: ${DEADLINE}ms, then: { local: 0.02 } }
outage: { deadline: ${DEADLINE}ms, then: throw }
`

const limiters = ["throw", "open", "closed", "local"] as const
type Limiter = (typeof limiters)[number]
type Replies = Record<Limiter, (Reply & { readonly end: number })[]>

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

/** Calls all four limiters without a pause, until it is stopped. */
function startLoad(service: { readonly url: string }) {
  const agent = keepAlive()
  const empty = (): Replies => ({ throw: [], open: [], closed: [], local: [] })
  let replies = empty()
  let isOver = false
  const repeat = async (name: Limiter, key: string) => {
    while (!isOver) {
      const reply = await acquire(service, name, { key }, { agent })
      replies[name].push(Object.assign(reply, { end: performance.now() }))
      await delay(5)
    }
  }
  const callers = Promise.all(
    limiters.flatMap((name) => Array.from({ length: 20 }, (_, i) => repeat(name, `caller ${i % 5}`))),
  )
  // If the test fails first, the service ends under the callers.
  callers.catch(() => {})
  return {
    get replies() {
      return replies
    },
    /** Returns the replies so far, and starts to collect anew. */
    take(): Replies {
      const taken = replies
      replies = empty()
      return taken
    },
    async stop() {
      isOver = true
      await callers
      agent.destroy()
    },
  }
}

const statusesOf = (replies: readonly Reply[]) => [...new Set(replies.map(({ status }) => status))].sort()

/** Each response comes within the deadline and the margin after its request or after the failure, whichever is later. */
function expectInTime(replies: Replies, failedAt: number): void {
  for (const name of limiters) {
    const times = replies[name].map(({ ms, end }) => Math.min(ms, end - failedAt))
    expect(Math.max(0, ...times), name).toBeLessThan(DEADLINE + MARGIN)
  }
}

describe.each(["killed", "frozen"] as const)("when Redis is %s under load", (how) => {
  const fail = () => (how === "killed" ? redis.kill() : process.kill(redis.pid, "SIGSTOP"))
  const mend = () => (how === "killed" ? redis.restart() : process.kill(redis.pid, "SIGCONT"))

  test("the outage policy applies, no request hangs, and the service recovers", async () => {
    const service = await startService(["--config", temporaryFile("sluice.yaml", text), "--redis", redis.url])
    const load = startLoad(service)
    await until("Redis answers all callers", async () =>
      limiters.every((name) => {
        const last = load.replies[name].slice(-50)
        return last.length === 50 && last.every(({ status }) => status === 200)
      }),
    )
    load.take()

    const failedAt = performance.now()
    await fail()
    await delay(DEADLINE + MARGIN)
    expectInTime(load.take(), failedAt)
    await until("all callers have answers", async () =>
      limiters.every((name) => load.replies[name].length > 40),
    )
    const during = load.take()
    expectInTime(during, failedAt)
    const bodyOf = (name: Limiter) => JSON.parse(during[name].at(-1)?.text ?? "")
    expect(statusesOf(during.throw)).toEqual([503])
    expect(bodyOf("throw")).toMatchObject({ code: expect.stringMatching(/^STORE_/) })
    expect(statusesOf(during.open)).toEqual([200])
    expect(bodyOf("open")).toMatchObject({ allowed: true, degraded: true })
    expect(statusesOf(during.closed)).toEqual([503])
    expect(bodyOf("closed").decision).toMatchObject({ allowed: false, degraded: true })
    // A local limit of 20 units per key: some pass, the rest is denied.
    await until("the local limit denies", async () => load.replies.local.some(({ status }) => status === 503))
    expect((await send(`${service.url}/readyz`)).status).toBe(503)
    expect((await send(`${service.url}/healthz`)).status).toBe(200)
    expectInTime(load.take(), failedAt)

    await mend()
    await until("the service uses Redis again", async () => {
      const replies = await Promise.all(limiters.map((name) => acquire(service, name, { key: "again" })))
      return replies.every(({ status, json }) => status === 200 && json.degraded === false)
    })
    await until("all callers pass", async () => {
      const last = load.replies.throw.slice(-20)
      return last.length === 20 && last.every(({ status }) => status === 200)
    })
    await load.stop()
    expectInTime(load.take(), failedAt)
    expect((await send(`${service.url}/readyz`)).status).toBe(200)
    expect(await service.stop()).toBe(0)
  })
})

test("a service that starts without Redis answers by its outage policy, and uses Redis when it comes", async () => {
  await redis.kill()
  const service = await startService(["--config", temporaryFile("sluice.yaml", text), "--redis", redis.url])
  const replies = await Promise.all(limiters.map((name) => acquire(service, name, { key: "early" })))
  expect(replies.map(({ status }) => status)).toEqual([503, 200, 503, 200])
  for (const { ms } of replies) expect(ms).toBeLessThan(DEADLINE + MARGIN)
  await redis.restart()
  await until(
    "the service uses Redis",
    async () => (await acquire(service, "throw", { key: "a" })).status === 200,
  )
})

const lost = "no connection to Redis"
const unanswered = "the store does not answer; the outage policy applies"

test("each outage is logged once, and so is its end", async () => {
  const service = await startService(["--config", temporaryFile("sluice.yaml", text), "--redis", redis.url])
  const count = (message: string) => service.log.filter(({ msg }) => msg === message).length
  await until(
    "Redis answers",
    async () => (await acquire(service, "open", { key: "a" })).json.degraded === false,
  )
  for (const outage of [1, 2]) {
    await redis.kill()
    const { level, error } = await service.logged(lost, outage)
    expect([level, error]).toEqual([40, expect.stringContaining("ECONNREFUSED")])
    for (let i = 0; i < 20; i += 1) await acquire(service, "open", { key: "a" })
    expect(await service.logged(unanswered, outage)).toMatchObject({ level: 40, limiter: "open" })
    await redis.restart()
    expect(await service.logged("Redis is back", outage)).toMatchObject({ level: 30 })
    await until("the limiter uses Redis again", async () => {
      await acquire(service, "open", { key: "a" })
      return count("the store answers again") === outage
    })
    expect([count(lost), count(unanswered), count("Redis is back")]).toEqual([outage, outage, outage])
  }
})

test("a Redis that freezes is logged, although the connection stays open", async () => {
  const service = await startService(["--config", temporaryFile("sluice.yaml", text), "--redis", redis.url])
  await until(
    "Redis answers",
    async () => (await acquire(service, "open", { key: "a" })).json.degraded === false,
  )
  process.kill(redis.pid, "SIGSTOP")
  try {
    for (let i = 0; i < 10; i += 1) await acquire(service, "open", { key: "a" })
    expect(await service.logged(unanswered)).toMatchObject({ level: 40, limiter: "open" })
  } finally {
    process.kill(redis.pid, "SIGCONT")
  }
})

test("a caller is told what to do in an outage, and the log has the details", async () => {
  const file = temporaryFile("sluice.yaml", text.replaceAll(`${DEADLINE}ms`, "1s"))
  const service = await startService(["--config", file, "--redis", "redis://127.0.0.1:1"])
  const { json } = await acquire(service, "throw", { key: "a" })
  expect(json).toMatchObject({
    code: "STORE_REFUSED",
    detail:
      "the store does not answer or refuses the call; nothing was changed, so it is safe to send the request again",
  })
  const batch = await send(`${service.url}/v1/batch`, {
    body: { requests: [{ limiter: "throw", key: "a" }] },
  })
  expect(batch.json.results[0].problem.detail).toBe(json.detail)
  expect(await service.logged("a call to the store failed")).toMatchObject({
    level: 40,
    code: "STORE_REFUSED",
    error: expect.stringContaining("enableOfflineQueue"),
  })
})
