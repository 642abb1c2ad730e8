import { createServer } from "node:http"
import { describe, expect, onTestFinished, test } from "vitest"
import { app } from "../../../../examples/integrations/graphql.js"
import { running } from "../middleware/adapter.js"

async function client(key: string) {
  const { url, close } = await running(createServer(app))
  onTestFinished(close)
  return (query: unknown, variables?: object) =>
    fetch(`${url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key },
      body: JSON.stringify({ query, variables }),
    })
}

const remaining = (response: Response) => Number(/r=(\d+)/.exec(response.headers.get("ratelimit") ?? "")?.[1])

describe("the GraphQL example", () => {
  test("charges a field 1 and a list for each of its items", async () => {
    const query = await client("cost")
    // friends: 1 + 20 names; user: 1 + that and its own name.
    const response = await query('{ user(name: "ann") { name friends(first: 20) { name } } }')
    expect(response.status).toBe(200)
    expect(
      ((await response.json()) as { data: { user: { friends: unknown[] } } }).data.user.friends,
    ).toHaveLength(20)
    expect(remaining(response)).toBe(100 - 23)
  })

  test("charges by variables and by each alias", async () => {
    const query = await client("variables")
    const text =
      'query($n: Int!) { a: user(name: "a") { friends(first: $n) { name } } b: user(name: "b") { name } }'
    expect(remaining(await query(text, { n: 10 }))).toBe(100 - 12 - 2)
  })

  test("denies a query that costs more than is left, and a cheaper one passes", async () => {
    const query = await client("deny")
    const list = (n: number) => `{ user(name: "ann") { friends(first: ${n}) { name } } }`
    expect((await query(list(90))).status).toBe(200)
    const denied = await query(list(90))
    expect(denied.status).toBe(429)
    expect(await denied.json()).toEqual({
      errors: [{ message: "Rate limited", extensions: { retryAfter: expect.any(Number) } }],
    })
    expect((await query(list(3))).status).toBe(200)
  })

  test("never runs a query that costs more than the limit, however large", async () => {
    const query = await client("huge")
    const most = 1_000_000
    const nested = (depth: number): string =>
      depth === 0 ? "name" : `friends(first: ${most}) { ${nested(depth - 1)} }`
    for (const depth of [1, 2, 60]) {
      const denied = await query(`{ user(name: "ann") { ${nested(depth)} } }`)
      expect([depth, denied.status, denied.headers.has("retry-after")]).toEqual([depth, 429, false])
    }
  })

  test("charges a fragment wherever it is spread", async () => {
    const query = await client("fragments")
    const text =
      'fragment F on User { name } { user(name: "a") { ...F friends(first: 3) { ...F ... { name } } } }'
    expect(remaining(await query(text))).toBe(100 - (1 + 1 + 1 + 3 * 2))
    const levels = Array.from(
      { length: 40 },
      (_, i) => `fragment F${i} on User { ...F${i + 1} x: friends(first: 1) { ...F${i + 1} } }`,
    )
    const bomb = `{ user(name: "a") { ...F0 } } fragment F40 on User { name } ${levels.join(" ")}`
    expect((await query(bomb)).status).toBe(429)
  })

  test("charges 1 for a query that is not valid or gives nothing back", async () => {
    const query = await client("invalid")
    expect(remaining(await query("{ nonsense"))).toBe(99)
    expect(remaining(await query(7))).toBe(98)
    expect(remaining(await query('{ user(name: "ann") { friends(first: -1000) { name } } }'))).toBe(95)
  })
})
