import { describe, expect, expectTypeOf, test } from "vitest"
import { fetching } from "../../test/support/fetching.js"
import { startUpstream } from "../../test/support/upstream.js"
import { until } from "../../test/support/watched-clock.js"
import type { Limiter } from "../limiter.js"
import { type FixedWindow, fixedWindow, leakyBucket } from "../policy.js"
import { type FetchOptions, limitedFetch } from "./index.js"

const rig = fetching()
const { upstream } = rig

const limited = (limit: number, options?: FetchOptions) =>
  rig.limited(options, { policy: fixedWindow({ limit, window: "1m" }) })

describe("turns", () => {
  test("calls to one host wait for their turn", async () => {
    const [one, other] = await Promise.all([upstream({ body: "one" }), upstream({ body: "other" })])
    const fetch = limited(1)
    expect(await (await fetch(one.url)).text()).toBe("one")
    const second = fetch(`${one.url}path`)
    expect(await (await fetch(other.url)).text()).toBe("other")
    await until(() => rig.clock.waiting === 1)
    expect(one.requests).toHaveLength(1)
    rig.clock.advance(60_000)
    expect(await (await second).text()).toBe("one")
    expect(one.requests[1]).toMatchObject({ method: "GET", path: "/path" })
  })

  test("a leaky bucket sends calls at even intervals", async () => {
    const { url, requests } = await upstream({})
    const fetch = rig.limited({}, { policy: leakyBucket({ capacity: 10, leak: 10, every: "1s" }) })
    const calls = [fetch(url), fetch(url), fetch(url)]
    for (const sent of [1, 2, 3]) {
      await until(() => requests.length === sent)
      rig.clock.advance(99)
      expect(requests).toHaveLength(sent)
      rig.clock.advance(1)
    }
    await Promise.all(calls)
  })

  test("the key is one name for all calls, or a function of the request", async () => {
    const { url, requests } = await upstream({})
    const all = limited(1, { key: "partner" })
    await all(url)
    expect(await all.limiter.peek("partner")).toMatchObject({ remaining: 0 })
    const seen: unknown[] = []
    const told = limited(1, {
      key({ method, url, headers, body }) {
        seen.push({ method, url, body, account: headers.get("account") })
        return headers.get("account") ?? "none"
      },
    })
    await told(new URL(url), { method: "post", headers: { account: "7" }, body: "text" })
    await told(new Request(`${url}2`, { method: "PUT", headers: { account: "8" }, body: "more" }))
    expect(seen).toEqual([
      { method: "POST", url, body: null, account: "7" },
      { method: "PUT", url: `${url}2`, body: null, account: "8" },
    ])
    expect(requests.slice(1).map(({ body }) => body)).toEqual(["text", "more"])
    expect(await told.limiter.peek("7")).toMatchObject({ remaining: 0 })
    expect(await told.limiter.peek("8")).toMatchObject({ remaining: 0 })
  })

  test("a URL without a host is limited by its scheme", async () => {
    const fetch = limited(5)
    expect(await (await fetch("data:text/plain,hello")).text()).toBe("hello")
    expect(await fetch.limiter.peek("data:")).toMatchObject({ remaining: 4 })
  })

  test("without a turn within maxWait a call rejects with the decision", async () => {
    const { url } = await upstream({})
    const fetch = rig.limited({}, { policy: fixedWindow({ limit: 1, window: "1m" }), maxWait: "10s" })
    await fetch(url)
    await expect(fetch(url)).rejects.toMatchObject({
      code: "WAIT_TOO_LONG",
      decision: { retryAfter: 60_000 },
    })
  })
})

describe("requests", () => {
  test("a call that waits is not affected when its arguments change", async () => {
    const { url, requests } = await upstream({})
    const fetch = limited(2)
    await Promise.all([fetch(url), fetch(url)])
    const page = new URL(`${url}?page=1`)
    const headers = new Headers({ number: "1" })
    const init = { method: "POST", headers, body: "1" }
    const calls = [fetch(page, init)]
    page.searchParams.set("page", "2")
    headers.set("number", "2")
    init.body = "2"
    calls.push(fetch(page, init))
    await until(() => rig.clock.waiting === 1)
    rig.clock.advance(60_000)
    await Promise.all(calls)
    const expected = ["1", "2"].map((n) => ({ path: `/?page=${n}`, body: n, headers: { number: n } }))
    const sent = requests.slice(2).sort((a, b) => (a.path < b.path ? -1 : 1))
    expect(sent).toMatchObject(expected)
  })

  test("inherited fields of an init count, such as those of another Request", async () => {
    const { url, requests } = await upstream({})
    const fetch = limited(9)
    const request = new Request("http://other.example/", {
      method: "POST",
      body: "hello",
      headers: { a: "b" },
    })
    await fetch(url, request)
    await fetch(url, Object.create({ method: "DELETE" }))
    expect(requests[0]).toMatchObject({ method: "POST", body: "hello", headers: { a: "b" } })
    expect(requests[1]).toMatchObject({ method: "DELETE" })
  })

  test.each(["/relative", "http://", "", "http://user:secret@127.0.0.1/"])(
    "%j is refused as by fetch, and takes no turn",
    async (url) => {
      const fetch = limited(1, { key: "all" })
      await expect(fetch(url)).rejects.toThrow(TypeError)
      await expect(fetch(new URL("http://127.0.0.1/"), { method: "no method" })).rejects.toThrow(TypeError)
      expect(await fetch.limiter.peek("all")).toMatchObject({ remaining: 1 })
    },
  )

  test("option fetch sends the requests, and the global fetch is looked up at each call", async () => {
    const sent: unknown[][] = []
    const stub = async (...call: unknown[]) => {
      sent.push(call)
      return new Response("stub")
    }
    const own = limited(9, { fetch: stub })
    const extra = { method: "GET", extra: "mine" } as RequestInit
    expect(await (await own("http://host.example/a", extra)).text()).toBe("stub")
    expect(sent).toEqual([["http://host.example/a", extra]])
    const usual = limited(9)
    const { fetch } = globalThis
    globalThis.fetch = stub
    try {
      expect(await (await usual("http://host.example/b")).text()).toBe("stub")
    } finally {
      globalThis.fetch = fetch
    }
  })

  test("a rejection of fetch is passed on and not retried", async () => {
    const { url, stop } = await startUpstream({})
    await stop()
    const fetch = limited(9)
    await expect(fetch(url)).rejects.toMatchObject({ message: "fetch failed" })
    expect(await fetch.limiter.peek(new URL(url).host)).toMatchObject({ remaining: 8 })
  })
})

test("a limited fetch has the type of fetch", () => {
  const fetch = limitedFetch({ policy: { burst: fixedWindow({ limit: 1, window: 1 }) } })
  expectTypeOf(fetch).toExtend<typeof globalThis.fetch>()
  expectTypeOf(fetch.limiter).toEqualTypeOf<Limiter<{ readonly burst: FixedWindow }>>()
  return fetch.close()
})

test("unknown or invalid options throw", () => {
  const policy = fixedWindow({ limit: 1, window: 1 })
  const wrong: [object, string][] = [
    [{ key: "" }, 'key must be a function or a non-empty string, got ""'],
    [{ key: 7 }, "key must be a function or a non-empty string, got 7"],
    [{ retries: -1 }, "retries must be an integer, 0 or more, got -1"],
    [{ retries: 1.5 }, "retries must be an integer, 0 or more, got 1.5"],
    [{ maxHold: 0 }, "maxHold must be whole milliseconds"],
    [{ fetch: "node" }, 'fetch must be a function, got "node"'],
    [{ retry: 1 }, 'limitedFetch has no field "retry"; it takes key, retries, maxHold, fetch'],
  ]
  for (const [options, message] of wrong) {
    expect(() => limitedFetch({ policy }, options)).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining(message) }),
    )
  }
  expect(() => limitedFetch({ policy, lease: true } as object as { policy: typeof policy })).toThrow(
    'has no field "lease"',
  )
  expect(() => limitedFetch({ policy, store: {} as never })).toThrow("store must be a Store")
})

test("a call rejects if the key function returns an invalid key", async () => {
  await expect(limited(1, { key: () => "" })("http://host.example/")).rejects.toMatchObject({
    code: "INVALID_KEY",
  })
})
