import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { type HttpRig, startHttp } from "./http-rig.js"

/** A turn every 200 ms. */
const acquire = "/v1/limiters/queue/acquire"

describe("waiting", () => {
  let rig: HttpRig
  beforeEach(async () => {
    rig = await startHttp()
  })
  afterEach(() => rig.stop())

  const waiters = async () => {
    const text = await rig.context.metrics.metrics()
    return /^sluice_waiter_count\S* (\d+)$/m.exec(text)?.[1]
  }

  const slow = "/v1/limiters/slow/acquire"
  /** Milliseconds until the next turn of a key of the slow limiter. */
  const nextTurn = async () => (await rig.post("/v1/limiters/slow/peek", { key: "k" })).json.retryAfter

  test("a request with a timeout waits for its turn and is answered with 200", async () => {
    const start = performance.now()
    expect((await rig.post(acquire, { key: "k" })).status).toBe(200)
    const { status, json } = await rig.post(acquire, { key: "k", timeout: "2s" })
    expect([status, json.allowed]).toEqual([200, true])
    expect(performance.now() - start).toBeGreaterThan(195)
  })

  test("a request whose turn would come after its timeout is denied at once", async () => {
    await rig.post(slow, { key: "k" })
    const start = performance.now()
    const { status, json } = await rig.post(slow, { key: "k", timeout: "1s" })
    expect(status).toBe(429)
    expect(json.decision.retryAfter).toBeGreaterThan(1_000)
    expect(performance.now() - start).toBeLessThan(900)
  })

  test("a timeout of 0 does not wait", async () => {
    await rig.post(slow, { key: "k" })
    expect((await rig.post(slow, { key: "k", timeout: 0 })).status).toBe(429)
  })

  test("a client that disconnects while it waits is not charged, and its turn goes to the next", async () => {
    await rig.post(slow, { key: "k" })
    const gone = new AbortController()
    const body = JSON.stringify({ key: "k", timeout: "30s" })
    const headers = { "content-type": "application/json" }
    const left = fetch(rig.url + slow, { method: "POST", headers, body, signal: gone.signal })
    await expect.poll(nextTurn).toBeGreaterThan(5_000)
    gone.abort()
    await expect(left).rejects.toThrow()
    await expect.poll(nextTurn).toBeLessThanOrEqual(5_000)
    expect(rig.log.filter(({ level }) => level >= 40)).toEqual([])
  })

  test("dozens of clients that come and go leave nobody in the queue", async () => {
    await rig.post(acquire, { key: "k" })
    const gone = new AbortController()
    const body = JSON.stringify({ key: "k", timeout: "9s" })
    const headers = { "content-type": "application/json" }
    const calls = Array.from({ length: 40 }, () =>
      fetch(rig.url + acquire, { method: "POST", headers, body, signal: gone.signal }).catch(() => "gone"),
    )
    await sleep(100)
    gone.abort()
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["gone"]))
    await expect.poll(async () => (await rig.post(acquire, { key: "k", timeout: "1s" })).status).toBe(200)
    await expect.poll(waiters).toBe("0")
  })
})
