import { spawn } from "node:child_process"
import { once } from "node:events"
import { readdirSync, readFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { expect, onTestFinished, test } from "vitest"

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const examples = readdirSync(`${root}examples/http`)

/** Starts an example against the source of the library, and returns the address that it prints. */
async function start(example: string): Promise<string> {
  const args = ["node_modules/tsx/dist/cli.mjs", "--tsconfig", "tsconfig.json", `examples/http/${example}`]
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  })
  onTestFinished(() => {
    child.kill()
  })
  const [line] = await once(createInterface(child.stdout), "line")
  return line
}

const statusesOf = async (count: number, call: () => Promise<Response>) => {
  const statuses: number[] = []
  for (let i = 0; i < count; i += 1) statuses.push((await call()).status)
  return statuses
}

test("every example of HTTP has a test here", () => {
  expect(examples.sort()).toEqual(["express.ts", "fastify.ts", "hono.ts", "koa.ts", "nest.ts", "web.ts"])
})

test("express.ts limits each client, and failed logins more strictly", async () => {
  const url = await start("express.ts")
  const from = (address: string) => ({ headers: { "x-forwarded-for": address } })
  const first = await fetch(url, from("192.0.2.1"))
  expect(first.headers.get("ratelimit-policy")).toBe('"burst";q=5;w=5, "daily";q=1000;w=86400')
  expect(await first.json()).toEqual({ left: 4 })
  expect(await statusesOf(6, () => fetch(url, from("192.0.2.2")))).toEqual([200, 200, 200, 200, 200, 429])

  const login = (password: string) =>
    fetch(`${url}/login`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-for": "192.0.2.3" },
      body: JSON.stringify({ password }),
    })
  expect((await login("open sesame")).status).toBe(200)
  expect(await statusesOf(3, () => login("guess"))).toEqual([401, 401, 429])
})

test("web.ts limits each API key", async () => {
  const url = await start("web.ts")
  const as = (key: string) => () => fetch(`${url}/hello`, { headers: { "x-api-key": key } })
  expect(await (await as("a")()).json()).toEqual({ path: "/hello" })
  expect(await statusesOf(3, as("a"))).toEqual([200, 200, 429])
  expect(await statusesOf(1, as("b"))).toEqual([200])
})

test("koa.ts lets requests wait for their turn, and denies those whose turn is too far ahead", async () => {
  const url = await start("koa.ts")
  const started = performance.now()
  const responses = await Promise.all(Array.from({ length: 25 }, () => fetch(url)))
  const count = (expected: number) => responses.filter(({ status }) => status === expected).length
  // The bucket holds ten, one of which leaks every 100 ms while the requests arrive.
  expect(count(200)).toBeGreaterThanOrEqual(10)
  expect(count(200)).toBeLessThan(25)
  expect(count(200) + count(429)).toBe(25)
  expect(performance.now() - started).toBeGreaterThan(800)
})

test("hono.ts charges uploads by their size", async () => {
  const url = await start("hono.ts")
  const upload = (bytes: number) => fetch(`${url}/upload`, { method: "POST", body: "x".repeat(bytes) })
  const first = await upload(900)
  expect(await first.json()).toEqual({ bytes: 900 })
  expect(first.headers.get("ratelimit-policy")).toBe('"upload";q=1000;qu="content-bytes";w=10')
  const second = await upload(900)
  expect(second.status).toBe(429)
  expect(await second.json()).toEqual({ error: "too much data", retryAfter: expect.any(Number) })
})

test("fastify.ts limits one route more strictly, and leaves the health check alone", async () => {
  const url = await start("fastify.ts")
  expect((await fetch(url)).headers.get("ratelimit-policy")).toBe('"100-in-1m";q=100;w=60')
  expect(await statusesOf(3, () => fetch(`${url}/search`))).toEqual([200, 200, 429])
  expect((await fetch(`${url}/health`)).headers.has("ratelimit")).toBe(false)
})

test("nest.ts limits reports by two policies, and leaves the health check alone", async () => {
  const url = await start("nest.ts")
  const home = await fetch(url)
  expect(await home.text()).toBe("hello")
  expect(home.headers.get("ratelimit-policy")).toBe('"100-in-1m";q=100;w=60')
  const report = () => fetch(`${url}/reports`, { method: "POST" })
  const first = await report()
  expect(await first.text()).toBe("created")
  expect(first.headers.get("ratelimit-policy")).toBe('"burst";q=2;w=20, "daily";q=50;w=86400')
  expect(await statusesOf(2, report)).toEqual([201, 429])
  expect((await report()).headers.get("ratelimit")).toMatch(/"daily";r=48;/)
  expect((await fetch(`${url}/health`)).headers.has("ratelimit")).toBe(false)
})

test("the code in docs/http.md is in an example that runs", () => {
  const plain = (text: string) => text.replaceAll(/^ +/gm, "").trim()
  const sources = examples.map((file) => plain(readFileSync(`${root}examples/http/${file}`, "utf8")))
  const page = readFileSync(`${root}docs/http.md`, "utf8")
  const quotes = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => plain(code as string))
  expect(quotes.length).toBeGreaterThanOrEqual(5)
  for (const quote of quotes) {
    expect(
      sources.some((source) => source.includes(quote)),
      quote,
    ).toBe(true)
  }
})
