import { status } from "@grpc/grpc-js"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type RedisServer, startRedis } from "../../../sluice/test/support/redis-server.js"
import { on } from "./support/rls-client.js"
import { configOf, startRls } from "./support/rls-server.js"

const descriptors = `
domain: d
descriptors:
  - { key: ip, rate_limit: { unit: year, requests_per_unit: 100 } }
  - { key: all, rate_limit: { unit: year, requests_per_unit: 250 } }
  - { key: shadow, shadow_mode: true, rate_limit: { unit: year, requests_per_unit: 1 } }
`

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

// Clients and server share this process, so a burst of calls delays replies.
const onRedis = () => `store: redis://127.0.0.1:${redis.port}\noutage: { deadline: 20s }\n${descriptors}`

describe.each([
  ["memory", () => descriptors],
  ["Redis", onRedis],
])("on %s", (name, config) => {
  test("1,000 concurrent callers admit exactly the limit of each descriptor", async () => {
    const server = await startRls(config())
    const ask = (i: number) => server.ask("d", [on("ip", `${name}-${i % 4}`), on("all", name)])
    const replies = await Promise.all(Array.from({ length: 1_000 }, (_, i) => ask(i)))
    expect(replies.filter(({ code }) => code === "OK")).toHaveLength(250)
    const left = await server.ask("d", [{ ...on("all", name), hits: 0 }])
    expect(left.statuses[0]).toMatchObject({ code: "OVER_LIMIT", remaining: 0 })
    await server.stop()
  })

  test("a limit of a request is not held to the denial of a lower one", async () => {
    const server = await startRls(config())
    const with_ = (requestsPerUnit: number) => ({
      ...on("ip", "override"),
      limit: { requestsPerUnit, unit: 6 },
    })
    expect((await server.ask("d", [with_(1)])).code).toBe("OK")
    expect((await server.ask("d", [with_(1)])).code).toBe("OVER_LIMIT")
    expect((await server.ask("d", [with_(50)])).code).toBe("OK")
    expect((await server.ask("d", [with_(1)])).code).toBe("OVER_LIMIT")
    await server.stop()
  })

  test("a repeated denial of several descriptors names the one that is over", async () => {
    const server = await startRls(config())
    await server.ask("d", [{ ...on("ip", "again"), hits: 100 }])
    for (let i = 0; i < 3; i += 1) {
      const { code, statuses } = await server.ask("d", [
        on("all", "again"),
        on("ip", "again"),
        on("ip", "fresh"),
      ])
      expect([code, ...statuses.map((each) => each.code)]).toEqual(["OVER_LIMIT", "OK", "OVER_LIMIT", "OK"])
    }
    expect((await server.ask("d", [on("all", "again")])).statuses[0]?.remaining).toBe(249)
    await server.stop()
  })
})

test("two servers on one Redis admit exactly the limit together", async () => {
  const servers = await Promise.all([startRls(onRedis()), startRls(onRedis())])
  const asks = Array.from({ length: 400 }, (_, i) => servers[i % 2]?.ask("d", [on("ip", "together")]))
  const replies = await Promise.all(asks)
  expect(replies.filter((reply) => reply?.code === "OK")).toHaveLength(100)
  await Promise.all(servers.map((server) => server.stop()))
})

describe("when Redis does not answer", () => {
  const outOfReach = (then: string) => `
store: redis://127.0.0.1:1
outage: { deadline: 200ms${then} }
${descriptors}`

  test("the status is UNAVAILABLE by default, also for limits of requests", async () => {
    const server = await startRls(outOfReach(""))
    const unavailable = {
      code: status.UNAVAILABLE,
      details: expect.stringMatching(/^STORE_\w+: the store (does|did) not answer /),
    }
    await expect(server.ask("d", [on("ip", "x")])).rejects.toMatchObject(unavailable)
    await expect(server.ask("d", [on("ip", "x"), on("all", "x")])).rejects.toMatchObject(unavailable)
    const override = { ...on("ip", "x"), limit: { requestsPerUnit: 1, unit: 1 } }
    await expect(server.ask("d", [override])).rejects.toMatchObject(unavailable)
    await server.stop()
  })

  test("descriptors without a limit are still OK", async () => {
    const server = await startRls(outOfReach(""))
    expect((await server.ask("d", [on("nokey", "x")])).code).toBe("OK")
    await server.stop()
  })

  test("with then: open, requests pass", async () => {
    const server = await startRls(outOfReach(", then: open"))
    expect((await server.ask("d", [on("ip", "x")])).code).toBe("OK")
    expect((await server.ask("d", [on("ip", "x"), on("all", "x")])).code).toBe("OK")
    await server.stop()
  })

  test("with then: closed, requests are over the limit, and so is each status", async () => {
    const server = await startRls(outOfReach(", then: closed"))
    const { code, statuses } = await server.ask("d", [on("ip", "x"), on("all", "x")])
    expect([code, ...statuses.map((each) => each.code)]).toEqual(["OVER_LIMIT", "OVER_LIMIT", "OVER_LIMIT"])
    await server.stop()
  })

  test("a reload of the outage policy applies to limits of requests too", async () => {
    const server = await startRls(outOfReach(""))
    const override = { ...on("ip", "x"), limit: { requestsPerUnit: 1, unit: 1 } }
    await expect(server.ask("d", [override])).rejects.toMatchObject({ code: status.UNAVAILABLE })
    server.engine.reload(configOf(outOfReach(", then: open")))
    expect((await server.ask("d", [override])).code).toBe("OK")
    await server.stop()
  })

  test("a rule in shadow mode passes whatever the outage policy is", async () => {
    const server = await startRls(outOfReach(""))
    expect((await server.ask("d", [on("shadow", "x")])).code).toBe("OK")
    await server.stop()
  })
})
