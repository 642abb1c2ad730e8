import { createTRPCClient, httpBatchLink } from "@trpc/client"
import { describe, expect, test } from "vitest"
import { type AppRouter, handler } from "../../../../examples/integrations/trpc.js"

/** A client of tRPC that calls the handler, and the responses that it got. */
function clientOf(key: string) {
  const responses: Response[] = []
  const link = httpBatchLink({
    url: "http://localhost/trpc",
    headers: { "x-api-key": key },
    async fetch(url, init) {
      const response = await handler(new Request(url, init as RequestInit))
      responses.push(response.clone())
      return response
    },
  })
  return { client: createTRPCClient<AppRouter>({ links: [link] }), responses }
}

const remaining = (response: Response | undefined) =>
  /r=(\d+)/.exec(response?.headers.get("ratelimit") ?? "")?.[1]

describe("the tRPC example", () => {
  test("charges a batch of calls once", async () => {
    const { client, responses } = clientOf("batch")
    await Promise.all([client.hello.query(), client.time.query(), client.hello.query()])
    expect(responses).toHaveLength(1)
    expect(remaining(responses[0])).toBe("2")
  })

  test("denies every call of a batch over the limit with TOO_MANY_REQUESTS, and says when to retry", async () => {
    const { client, responses } = clientOf("deny")
    for (let i = 0; i < 3; i += 1) expect(await client.hello.query()).toBe("hello")
    const calls = await Promise.allSettled([client.hello.query(), client.time.query()])
    for (const call of calls) {
      expect(call).toMatchObject({ status: "rejected", reason: { data: { code: "TOO_MANY_REQUESTS" } } })
    }
    expect(responses.at(-1)?.status).toBe(429)
    expect(responses.at(-1)?.headers.get("retry-after")).toMatch(/^(59|60)$/)
  })

  test("does not charge a procedure without the middleware", async () => {
    const { client, responses } = clientOf("free")
    for (let i = 0; i < 5; i += 1) expect(await client.health.query()).toBe("ok")
    expect(responses[0]?.headers.has("ratelimit")).toBe(false)
  })

  test("refuses a batch of more than 10 calls", async () => {
    const { client } = clientOf("large")
    const calls = await Promise.allSettled(Array.from({ length: 11 }, () => client.hello.query()))
    expect(calls.every(({ status }) => status === "rejected")).toBe(true)
  })
})
