import { describe, expect, expectTypeOf, test, vi } from "vitest"
import { createLimiter } from "../create-limiter.js"
import { clientKey } from "../http/client-key.js"
import { behind } from "../http/presets.js"
import { fixedWindow } from "../policy.js"
import { rateLimit as hono } from "./hono.js"
import { rateLimit } from "./web.js"

const policy = fixedWindow({ limit: 5, window: "1m" })
const key = () => "k"
const request = () => new Request("http://localhost/")

describe("a Fetch handler", () => {
  test("gets whatever the platform passes after the request", async () => {
    const handler = rateLimit({ policy, key })((_: Request, env: { name: string }, list: number[]) =>
      Response.json([env.name, ...list]),
    )
    expectTypeOf(handler).parameters.toEqualTypeOf<[Request, { name: string }, number[]]>()
    expect(await (await handler(request(), { name: "x" }, [1, 2])).json()).toEqual(["x", 1, 2])
  })

  test("limits the address that the platform passes, as Deno does", async () => {
    const handler = rateLimit({
      policy: fixedWindow({ limit: 1, window: "1m" }),
      address: (_: Request, info: { remoteAddr: { hostname: string } }) => info.remoteAddr.hostname,
    })((_: Request, __: object) => new Response())
    const from = async (hostname: string) => (await handler(request(), { remoteAddr: { hostname } })).status
    expect([await from("1.1.1.1"), await from("1.1.1.1"), await from("2.2.2.2")]).toEqual([200, 429, 200])
  })

  test("limits the client that a preset names", async () => {
    const limit = rateLimit({
      policy: fixedWindow({ limit: 1, window: "1m" }),
      key: clientKey(behind.vercel),
    })
    const handler = limit(() => new Response())
    const from = async (address: string) => {
      const headers = { "x-vercel-forwarded-for": address }
      return (await handler(new Request("http://localhost/", { headers }))).status
    }
    expect([await from("1.1.1.1"), await from("1.1.1.1"), await from("2.2.2.2")]).toEqual([200, 429, 200])
  })

  test("may return a response whose headers are immutable", async () => {
    const response = await rateLimit({ policy, key })(() => Response.redirect("http://localhost/x", 302))(
      request(),
    )
    expect([response.status, response.headers.get("location")]).toEqual([302, "http://localhost/x"])
    expect(response.headers.get("ratelimit")).toBe('"5-in-1m";r=4;t=60')
  })

  test("keeps a header that it sets itself", async () => {
    const own = () => new Response("", { headers: { RateLimit: '"own";r=1' } })
    const response = await rateLimit({ policy, key })(own)(request())
    expect(response.headers.get("ratelimit")).toBe('"own";r=1')
    expect(response.headers.get("ratelimit-policy")).toBe('"5-in-1m";q=5;w=60')
  })

  test("on Workers settles in waitUntil, after the response", async () => {
    const limiter = createLimiter({ policy })
    const waitUntil = vi.fn()
    const handler = rateLimit({ limiter, key, count: "failures" })((_: Request, __: object, ___: object) =>
      Response.json({}),
    )
    const response = await handler(request(), {}, { waitUntil })
    expect(waitUntil).not.toHaveBeenCalled()
    await response.text()
    await waitUntil.mock.calls[0]?.[0]
    expect(await limiter.peek("k")).toMatchObject({ remaining: 5 })
  })

  test("that throws counts as a failure, and its error reaches the platform", async () => {
    const limiter = createLimiter({ policy })
    const broken = () => {
      throw new Error("broken")
    }
    for (const [count, remaining] of [
      ["successes", 5],
      ["failures", 4],
    ] as const) {
      await expect(rateLimit({ limiter, key, count })(broken)(request())).rejects.toThrow("broken")
      expect(await limiter.peek("k")).toMatchObject({ remaining })
    }
  })

  test("whose body fails counts as a failure", async () => {
    const limiter = createLimiter({ policy })
    const body = () =>
      new ReadableStream({
        pull(controller) {
          controller.error(new Error("broken"))
        },
      })
    const handler = rateLimit({ limiter, key, count: "failures" })(() => new Response(body()))
    await expect((await handler(request())).text()).rejects.toThrow("broken")
    expect(await limiter.peek("k")).toMatchObject({ remaining: 4 })
  })
})

test("without a socket address a key is required", () => {
  // @ts-expect-error: the types require one of them too
  expect(() => rateLimit({ policy })).toThrow(/sluice\/web needs a key or an address/)
  expect(() => hono({ policy })).toThrow(/sluice\/hono needs a key or getConnInfo/)
})
