import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { describe, expect, test } from "vitest"
import { SluiceError } from "../errors.js"
import { createClient } from "./index.js"

const decision = {
  allowed: true,
  policy: "default",
  limit: 3,
  window: 1_000,
  remaining: 2,
  retryAfter: 0,
  resetAfter: 400,
  source: "store",
  degraded: false,
}

interface Sent {
  readonly url: string
  readonly init: RequestInit & { readonly headers: Record<string, string> }
}

/** A client whose server answers like this. */
function rigged(answer: (() => Response | Promise<Response>) | Response, options: object = {}) {
  const sent: Sent[] = []
  const fetch = async (url: string, init: Sent["init"]) => {
    sent.push({ url, init })
    return typeof answer === "function" ? answer() : answer
  }
  const client = createClient({ url: "https://limits.example/base/", fetch: fetch as never, ...options })
  return { sent, client, limiter: client.limiter("a/b") }
}

const json = (status: number, body: unknown) => new Response(JSON.stringify(body), { status })
const failure = async (promise: Promise<unknown>) =>
  promise.then(
    () => "resolved",
    (error) => (error instanceof SluiceError ? `${error.code}: ${error.message}` : error),
  )

describe("the client", () => {
  test("sends JSON to the limiter's path under the base path, with the token", async () => {
    const { sent, limiter } = rigged(json(200, decision), { token: "t0ken" })
    expect(await limiter.tryAcquire("k", { cost: 2 })).toEqual(decision)
    expect(sent).toHaveLength(1)
    const { url, init } = sent[0] as Sent
    expect(url).toBe("https://limits.example/base/v1/limiters/a%2Fb/acquire")
    expect(init.headers).toEqual({
      accept: "application/json",
      "content-type": "application/json",
      authorization: "Bearer t0ken",
    })
    expect(JSON.parse(String(init.body))).toEqual({ key: "k", cost: 2 })
  })

  test.each([
    [
      "429 with a decision",
      429,
      { decision: { ...decision, allowed: false, retryAfter: null } },
      Number.POSITIVE_INFINITY,
    ],
    [
      "503 with a decision",
      503,
      { decision: { ...decision, allowed: false, degraded: true, retryAfter: 50 } },
      50,
    ],
  ])("a %s is a denial and no error", async (_, status, body, retryAfter) => {
    expect(await rigged(json(status, body)).limiter.tryAcquire("k")).toMatchObject({
      allowed: false,
      retryAfter,
    })
  })

  test.each([
    [400, { code: "INVALID_COST", detail: "no" }, "INVALID_COST: the server answered 400: no"],
    [400, { detail: "no" }, "INVALID_OPTION: the server answered 400: no"],
    [401, {}, "INVALID_OPTION: the server answered 401"],
    [404, { code: "STRANGE" }, "INVALID_OPTION: the server answered 404"],
    [429, "nonsense", "STORE_REFUSED: the server answered 429"],
    [503, { code: "STORE_REFUSED", detail: "full" }, "STORE_REFUSED: the server answered 503: full"],
    [503, {}, "STORE_UNKNOWN: the server answered 503"],
    [500, { code: "INVALID_KEY" }, "STORE_UNKNOWN: the server answered 500"],
    [502, null, "STORE_UNKNOWN: the server answered 502"],
    [302, {}, "INVALID_OPTION: the server redirects; set url to where it redirects to"],
    [
      200,
      { hello: "world" },
      "STORE_UNKNOWN: the answer is no decision; is the URL that of a Sluice server?",
    ],
    [200, null, "STORE_UNKNOWN: the answer is no decision; is the URL that of a Sluice server?"],
  ])("an answer of %s with %j rejects with the library's error", async (status, body, expected) => {
    const { sent, limiter } = rigged(json(status, body))
    expect(await failure(limiter.tryAcquire("k"))).toBe(expected)
    expect(sent).toHaveLength(1)
  })

  test("an answer that is no JSON is STORE_UNKNOWN", async () => {
    const { limiter } = rigged(new Response("<html>"))
    expect(await failure(limiter.tryAcquire("k"))).toMatch(/^STORE_UNKNOWN: the answer is no JSON/)
  })

  test.each([
    ["ECONNREFUSED", "STORE_REFUSED: the server cannot be reached: nobody there"],
    ["ECONNRESET", "STORE_UNKNOWN: no answer: nobody there"],
  ])(
    "a failed connection with %s is sent once and rejects by whether it may have run",
    async (code, expected) => {
      const cause = Object.assign(new Error("nobody there"), { code })
      const { sent, limiter } = rigged(() => Promise.reject(new TypeError("fetch failed", { cause })))
      expect(await failure(limiter.tryAcquire("k"))).toBe(expected)
      expect(sent).toHaveLength(1)
    },
  )

  test("a failure without a cause, as in browsers, is STORE_UNKNOWN", async () => {
    const { limiter } = rigged(() => Promise.reject(new TypeError("Failed to fetch")))
    expect(await failure(limiter.tryAcquire("k"))).toBe(
      "STORE_UNKNOWN: no answer: TypeError: Failed to fetch",
    )
  })

  test.each([
    ["an empty key", () => rigged(json(200, decision)).limiter.tryAcquire(""), "INVALID_KEY"],
    [
      "a cost of NaN",
      () => rigged(json(200, decision)).limiter.tryAcquire("k", { cost: Number.NaN }),
      "INVALID_COST",
    ],
    [
      "a cost of infinity",
      () => rigged(json(200, decision)).limiter.charge("k", { a: Number.POSITIVE_INFINITY }),
      "INVALID_COST",
    ],
    ["a cost of null", () => rigged(json(200, decision)).limiter.charge("k", null as never), "INVALID_COST"],
    [
      "a wrong timeout",
      () => rigged(json(200, decision)).limiter.tryAcquire("k", { timeout: "soon" as never }),
      "INVALID_OPTION",
    ],
    [
      "a misspelt option",
      () => rigged(json(200, decision)).limiter.peek("k", { costs: 1 } as never),
      "INVALID_OPTION",
    ],
    ["a count of 0", () => rigged(json(200, [])).client.top(0), "INVALID_OPTION"],
  ])("%s is refused before anything is sent", async (_, call, code) => {
    expect(await failure(call())).toMatch(new RegExp(`^${code}:`))
  })

  test.each([
    [{}, /url must be like/],
    [{ url: "localhost:8080" }, /url must be like/],
    [{ url: "ftp://x" }, /url must be like/],
    [{ url: "http://x?y" }, /url must be like/],
    [{ url: "http://x", token: "" }, /token must be/],
    [{ url: "http://x", deadline: 0 }, /deadline must be/],
    [{ url: "http://x", fetch: 1 }, /fetch must be a function/],
    [{ url: "http://x", tokn: "y" }, /has no field "tokn"/],
  ])("createClient(%j) throws INVALID_OPTION", (options, message) => {
    expect(() => createClient(options as never)).toThrow(message)
    expect(() => createClient({ url: "http://x" }).limiter("")).toThrow(/name must be/)
  })

  test("imports no module of Node", async () => {
    const entry = fileURLToPath(new URL("index.ts", import.meta.url))
    const { metafile } = await build({
      entryPoints: [entry],
      bundle: true,
      platform: "browser",
      write: false,
      metafile: true,
    })
    expect(Object.keys(metafile.inputs).filter((path) => path.startsWith("node:"))).toEqual([])
    expect(Object.keys(metafile.inputs).some((path) => /stores|algorithms/.test(path))).toBe(false)
  })
})
