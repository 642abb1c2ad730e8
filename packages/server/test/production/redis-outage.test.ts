import { setTimeout as delay } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type RedisServer, startRedis } from "../../../sluice/test/support/redis-server.js"
import { until } from "../../../sluice/test/support/server-process.js"
import { temporaryFile } from "../support/folder.js"
import { acquire, keepAlive, type Reply, send } from "../support/http.js"
import { startService } from "../support/service.js"

const DEADLINE = 300
/** How much longer than the deadline a response may take, in milliseconds. */
const MARGIN = 500

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
type Replies = Record<Limiter | "control", Reply[]>

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

/** Calls all four limiters without a pause, until it is stopped. Health checks are the control: they need no Redis. */
function startLoad(service: { readonly url: string }) {
  const agent = keepAlive()
  const empty = (): Replies => ({ throw: [], open: [], closed: [], local: [], control: [] })
  let replies = empty()
  let isOver = false
  const repeat = async (name: Limiter | "control", call: () => Promise<Reply>) => {
    while (!isOver) {
      const reply = await call()
      replies[name].push(reply)
      await delay(5)
    }
  }
  const each = <T>(count: number, start: (i: number) => T) =>
    Array.from({ length: count }, (_, i) => start(i))
  const callers = Promise.all([
    ...limiters.flatMap((name) =>
      each(20, (i) => repeat(name, () => acquire(service, name, { key: `caller ${i % 5}` }, { agent }))),
    ),
    ...each(5, () => repeat("control", () => send(`${service.url}/healthz`, { agent }))),
  ])
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
const slowest = (replies: readonly Reply[]) => Math.max(0, ...replies.map(({ ms }) => ms))

/** On a busy machine everything is late. So the bound counts from what a health check took at the same time. */
function expectInTime(replies: Replies): void {
  const late = slowest(replies.control)
  expect(late).toBeLessThan(5_000)
  for (const name of limiters) {
    expect(slowest(replies[name]), `${name}, with ${Math.round(late)} ms for a health check`).toBeLessThan(
      DEADLINE + MARGIN + late,
    )
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

    await fail()
    await delay(DEADLINE + MARGIN)
    expectInTime(load.take())
    await until("all callers have answers", async () =>
      limiters.every((name) => load.replies[name].length > 40),
    )
    const during = load.take()
    expectInTime(during)
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
    expectInTime(load.take())

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
    expectInTime(load.take())
    expect((await send(`${service.url}/readyz`)).status).toBe(200)
    expect(await service.stop()).toBe(0)
  })
})

test("a service that starts without Redis answers by its outage policy, and uses Redis when it comes", async () => {
  await redis.kill()
  const service = await startService(["--config", temporaryFile("sluice.yaml", text), "--redis", redis.url])
  const [control, ...replies] = await Promise.all([
    send(`${service.url}/healthz`),
    ...limiters.map((name) => acquire(service, name, { key: "early" })),
  ])
  expect(replies.map(({ status }) => status)).toEqual([503, 200, 503, 200])
  expect(slowest(replies)).toBeLessThan(DEADLINE + MARGIN + control.ms)
  await redis.restart()
  await until(
    "the service uses Redis",
    async () => (await acquire(service, "throw", { key: "a" })).status === 200,
  )
})
