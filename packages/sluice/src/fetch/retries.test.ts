import { afterEach, describe, expect, test, vi } from "vitest"
import { fetching } from "../../test/support/fetching.js"
import type { Reply } from "../../test/support/upstream.js"
import { until } from "../../test/support/watched-clock.js"

const rig = fetching()
const { upstream, limited } = rig

afterEach(() => {
  vi.restoreAllMocks()
})

const busy = (status = 429, headers = {}): Reply => ({ status, headers, body: "busy" })
const later = busy(429, { "retry-after": "10" })
const fine: Reply = { body: "fine" }

/** Advances the clock whenever a call sleeps, until this call has its response. */
async function answered(call: Promise<Response>): Promise<Response> {
  const done = { yet: false }
  const end = () => {
    done.yet = true
  }
  call.then(end, end)
  while (!done.yet) {
    await until(() => done.yet || rig.clock.waiting > 0)
    if (!done.yet) rig.clock.advance(rig.clock.asked.at(-1) ?? 0)
  }
  return call
}

describe("after a 429", () => {
  test("a call is retried after the time of Retry-After plus jitter", async () => {
    for (const [random, pause] of [
      [0, 10_001],
      [0.999, 11_000],
    ] as const) {
      vi.spyOn(Math, "random").mockReturnValue(random)
      const { url, requests } = await upstream(later, fine)
      const call = limited()(url)
      await until(() => rig.clock.waiting === 1)
      expect(rig.clock.asked.at(-1)).toBeCloseTo(pause, -1)
      rig.clock.advance(pause - 1)
      await new Promise(setImmediate)
      expect(requests).toHaveLength(1)
      expect(rig.clock.waiting).toBe(1)
      rig.clock.advance(1)
      expect(await (await call).text()).toBe("fine")
    }
  })

  test("without Retry-After the backoff is at most one second, then doubles", async () => {
    for (const [random, share] of [
      [0, 0.5],
      [1, 1],
    ] as const) {
      vi.spyOn(Math, "random").mockReturnValue(random)
      const before = rig.clock.asked.length
      const { url, requests } = await upstream(busy(429, { "retry-after": "0" }), busy(), busy(), fine)
      expect(await (await answered(limited({ retries: 3 })(url))).text()).toBe("fine")
      expect(requests).toHaveLength(4)
      expect(rig.clock.asked.slice(before)).toEqual([1_000 * share, 2_000 * share, 4_000 * share])
    }
  })

  test("no backoff is longer than maxHold", async () => {
    vi.spyOn(Math, "random").mockReturnValue(1)
    const { url } = await upstream(busy(), busy(), fine)
    await answered(limited({ maxHold: 1_500 })(url))
    expect(rig.clock.asked).toEqual([1_000, 1_500])
  })

  test("the last response is returned unchanged", async () => {
    const { url, requests } = await upstream(later)
    const reply = await answered(limited()(url))
    expect([reply.status, await reply.text()]).toEqual([429, "busy"])
    expect(requests).toHaveLength(3)
    const once = await upstream(later)
    expect((await limited({ retries: 0 })(once.url)).status).toBe(429)
    expect(once.requests).toHaveLength(1)
  })

  test("a response with a Retry-After beyond maxHold is returned at once", async () => {
    const { url, requests } = await upstream(busy(429, { "retry-after": "61" }), fine)
    expect((await limited()(url)).status).toBe(429)
    expect(requests).toHaveLength(1)
    const patient = await upstream(busy(429, { "retry-after": "61" }), fine)
    expect((await answered(limited({ maxHold: "61s" })(patient.url))).status).toBe(200)
  })

  test("every attempt takes a turn", async () => {
    const { url, host } = await upstream(later, later, fine)
    const fetch = limited({ maxHold: "10s" })
    await answered(fetch(url))
    expect(await fetch.limiter.peek(host)).toMatchObject({ remaining: 997 })
  })
})

describe("bodies", () => {
  const form = new FormData()
  form.set("field", "value")
  const bodies: [string, () => NonNullable<RequestInit["body"]>, string][] = [
    ["a string", () => "text", "text"],
    ["a Buffer", () => Buffer.from("text"), "text"],
    ["an ArrayBuffer", () => new TextEncoder().encode("text").buffer, "text"],
    ["URLSearchParams", () => new URLSearchParams({ a: "b c" }), "a=b+c"],
    ["a Blob", () => new Blob(["text"]), "text"],
    ["FormData", () => form, 'name="field"\r\n\r\nvalue\r\n'],
  ]

  test.each(bodies)("%s is sent again", async (_, body, text) => {
    const { url, requests } = await upstream(later, fine)
    expect((await answered(limited()(url, { method: "POST", body: body() }))).status).toBe(200)
    expect(requests).toHaveLength(2)
    for (const request of requests) expect(request.body).toContain(text)
    expect(requests[1]?.headers["content-type"]?.split(";")[0]).toBe(
      requests[0]?.headers["content-type"]?.split(";")[0],
    )
  })

  test("a Request without a body is retried", async () => {
    const { url, requests } = await upstream(later, fine)
    const request = new Request(url, { headers: { number: "7" } })
    expect((await answered(limited()(request))).status).toBe(200)
    expect(requests.map(({ headers: { number } }) => number)).toEqual(["7", "7"])
  })

  test("a Request is retried if the init replaces its body by one that can be sent again", async () => {
    const { url, requests } = await upstream(later, fine)
    const request = new Request(url, { method: "PUT", body: "old" })
    expect((await answered(limited()(request, { body: "new" }))).status).toBe(200)
    expect(requests.map(({ method, body }) => [method, body])).toEqual([
      ["PUT", "new"],
      ["PUT", "new"],
    ])
  })

  test("a stream is not sent again, and the response is returned unchanged", async () => {
    const { url, requests } = await upstream(later)
    const streams: [string | Request, RequestInit?][] = [
      [url, { method: "POST", body: new Blob(["text"]).stream(), duplex: "half" }],
      [new Request(url, { method: "POST", body: "text" })],
    ]
    for (const [input, init] of streams) {
      const reply = await limited()(input, init)
      expect([reply.status, await reply.text()]).toEqual([429, "busy"])
    }
    expect(requests.map(({ body }) => body)).toEqual(["text", "text"])
  })
})

describe("after a 503", () => {
  test.each(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])("%s is sent again", async (method) => {
    const { url, requests } = await upstream(busy(503), fine)
    expect((await answered(limited()(url, { method }))).status).toBe(200)
    expect(requests).toHaveLength(2)
  })

  test.each(["POST", "PATCH"])("%s is sent again only if the answer tells when", async (method) => {
    const silent = await upstream(busy(503), fine)
    expect((await limited()(silent.url, { method })).status).toBe(503)
    expect(silent.requests).toHaveLength(1)
    const telling = await upstream(busy(503, { "retry-after": "1" }), fine)
    expect((await answered(limited()(telling.url, { method }))).status).toBe(200)
  })
})

test.each([200, 400, 403, 404, 500, 502, 504])("after a %d nothing is sent again", async (status) => {
  const { url, requests } = await upstream(busy(status, { "retry-after": "1" }), fine)
  expect((await limited()(url)).status).toBe(status)
  expect(requests).toHaveLength(1)
})

describe("discarded responses", () => {
  test("the connection of a discarded response is reused", async () => {
    const server = await upstream(later, later, fine)
    await answered(limited()(server.url))
    expect(new Set(server.requests.map(({ socket }) => socket))).toHaveProperty("size", 1)
  })

  test.each<[string, Reply["body"]]>([
    ["long ones", "x".repeat(1_000_000)],
    ["ones without end", (response) => response.write("x")],
  ])("%s are cut off", async (_, body) => {
    const server = await upstream({ ...later, body: body as string }, fine)
    await (await answered(limited()(server.url))).text()
    const [dropped, returned] = server.requests
    await until(() => dropped?.socket.destroyed === true)
    expect(returned?.socket.destroyed).toBe(false)
  })
})
