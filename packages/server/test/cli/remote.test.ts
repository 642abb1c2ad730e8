import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { pino } from "pino"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { readConfig } from "../../src/config/read-config.js"
import { type RunningServer, serve } from "../../src/serve.js"
import { type FakeOptions, type Run, sluice } from "./fake-terminal.js"

const token = "0123456789abcdef0123"
const text = `
listen: { http: "127.0.0.1:0", grpc: false }
admin: { token: ${token} }
limiters:
  api: { policy: { algorithm: tokenBucket, capacity: 100, refill: 10, every: 1s } }
  login: { policy: { algorithm: fixedWindow, limit: 2, window: 1m } }
  slow: { policy: { algorithm: tokenBucket, capacity: 1, refill: 1, every: 1h } }
  turns: { policy: { algorithm: tokenBucket, capacity: 1, refill: 1, every: 100ms } }
  uploads:
    policy:
      requests: { algorithm: fixedWindow, limit: 60, window: 1m }
      bytes: { algorithm: tokenBucket, capacity: 1000, refill: 100, every: 1s }
`

let server: RunningServer
let env: Record<string, string>
beforeAll(async () => {
  const config = readConfig([{ name: "test.yaml", text }], {})
  server = await serve(config, { log: pino({ level: "silent" }) })
  env = { SLUICE_SERVER: `http://127.0.0.1:${server.http?.port}`, SLUICE_ADMIN_TOKEN: token }
})
afterAll(() => server.close())

/** The URL of a port that nothing listens on. */
async function closedUrl(): Promise<string> {
  const fake = createServer()
  await new Promise<void>((resolve) => fake.listen(0, "127.0.0.1", resolve))
  const { port } = fake.address() as AddressInfo
  await new Promise((resolve) => fake.close(resolve))
  return `http://127.0.0.1:${port}`
}

const run = (argv: readonly string[], options: FakeOptions = {}): Promise<Run> =>
  sluice(argv, { env, ...options })

describe("sluice check", () => {
  test("a grant exits with 0 and says what is left", async () => {
    expect(await run(["check", "api", "alice", "--cost", "10"])).toEqual({
      code: 0,
      out: "allowed: 90 of 100 left (policy default)\n",
      err: "",
    })
  })

  test("a denial exits with 1 and says when to retry", async () => {
    for (let i = 0; i < 2; i += 1) expect((await run(["check", "login", "bob"])).code).toBe(0)
    const { code, out } = await run(["check", "login", "bob"])
    expect(code).toBe(1)
    expect(out).toMatch(/^denied: 0 of 2 left \(policy default\), retry in (5\d(\.\d)?|60) s\n$/)
  })

  test("--peek spends nothing", async () => {
    for (let i = 0; i < 3; i += 1) {
      const { code, out } = await run(["check", "login", "carol", "--peek"])
      expect([code, out]).toEqual([0, "would be allowed: 2 of 2 left (policy default)\n"])
    }
  })

  test("--json prints the decision, and a wait that never ends is null", async () => {
    const { code, out } = await run(["check", "slow", "dave", "--cost", "2", "--json"])
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({ allowed: false, limit: 1, retryAfter: null })
    expect((await run(["check", "slow", "dave", "--cost", "2"])).out).toContain("it can never pass")
  })

  test("--timeout waits for a turn", async () => {
    expect((await run(["check", "turns", "erin"])).code).toBe(0)
    expect((await run(["check", "turns", "erin", "--timeout", "5s"])).code).toBe(0)
  })

  test("Ctrl-C ends a wait", async () => {
    await run(["check", "slow", "frank"])
    const stop = new AbortController()
    setTimeout(() => stop.abort(), 50)
    const { code, err } = await run(["check", "slow", "frank", "--timeout", "1m"], { signal: stop.signal })
    // Its turn is an hour away, so the server may also deny at once.
    expect([1, 3]).toContain(code)
    if (code === 3) expect(err).toBe("sluice check: interrupted\n")
  })

  test("several policies take a cost each and are listed", async () => {
    const { code, out } = await run(["check", "uploads", "grace", "--cost", "bytes=400"])
    expect(code).toBe(0)
    expect(out).toMatch(/\n {2}requests +allows +59 of 60 left +full in /)
    expect(out).toMatch(/\n {2}bytes +allows +600 of 1,000 left +full in 4 s\n$/)
    const all = await run(["check", "uploads", "grace", "--cost", "5"])
    expect([all.code, all.out]).toEqual([2, ""])
    expect(all.err).toContain("sluice check: the server answered 400")
  })

  test("a limiter that is not there and a cost of 0 are mistakes in the call", async () => {
    expect((await run(["check", "nothing", "alice"])).code).toBe(2)
    expect((await run(["check", "api", "alice", "--cost", "0"])).code).toBe(2)
  })

  test("without a server it exits with 3", async () => {
    const { code, out, err } = await run(["check", "api", "alice", "--server", await closedUrl()])
    expect([code, out]).toEqual([3, ""])
    expect(err).toMatch(/^sluice check: the server cannot be reached: .*ECONNREFUSED/)
    expect(err).toContain("Is `sluice serve` running?")
  })

  test.each(["{a}:b", "a\nb", "👩‍🚒", "x".repeat(1_000), "--", "%2f../"])(
    "odd key number %# is limited as it is",
    async (key) => {
      const argv = ["check", "login", "--json", "--", key]
      expect((await run(argv)).code).toBe(0)
      expect((await run(["inspect", "login", "--json", "--", key])).out).toContain('"used": 1')
    },
  )
})

describe("sluice inspect and sluice reset", () => {
  test("inspect shows what was spent, and reset makes the key like new", async () => {
    await run(["check", "login", "heidi"])
    const before = await run(["inspect", "login", "heidi"])
    expect(before.code).toBe(0)
    expect(before.out).toMatch(
      /^login, heidi\n {2}default {2}1 of 2 used {2}1 left {2}nothing spent in (5\d(\.\d)?|60) s\n$/,
    )
    expect(await run(["reset", "login", "heidi"])).toEqual({
      code: 0,
      out: "heidi of login is like new.\n",
      err: "",
    })
    expect((await run(["inspect", "login", "heidi"])).out).toContain("0 of 2 used  2 left  nothing spent\n")
    expect(JSON.parse((await run(["reset", "login", "heidi", "--json"])).out)).toEqual({
      limiter: "login",
      key: "heidi",
      reset: true,
    })
  })

  test("without the token they are refused, and nothing is reset", async () => {
    await run(["check", "login", "ivan"])
    const refused = await run(["reset", "login", "ivan"], {
      env: { SLUICE_SERVER: env["SLUICE_SERVER"] as string },
    })
    expect([refused.code, refused.out]).toEqual([2, ""])
    expect((await run(["reset", "login", "ivan", "--token", "wrong"])).code).toBe(2)
    expect((await run(["inspect", "login", "ivan"])).out).toContain("1 of 2 used")
  })
})

describe("sluice rules", () => {
  test("a block denies at once, is listed, and can be removed", async () => {
    const block = [
      "rules",
      "block",
      "api",
      "mallory",
      "--until",
      "1h",
      "--reason",
      "password guessing",
      "--by",
      "ops",
    ]
    expect(await run(block)).toEqual({ code: 0, out: "mallory of api is blocked.\n", err: "" })
    const denied = await run(["check", "api", "mallory"])
    expect([denied.code, denied.out]).toEqual([1, expect.stringContaining("A rule decided")])
    expect((await run(["rules", "list", "api"])).out).toMatch(
      /^api +mallory +block, until \d{4}-.*, reason: password guessing, by ops$/m,
    )
    expect((await run(["inspect", "api", "mallory"])).out).toContain("  rule: block, until")
    expect((await run(["rules", "remove", "api", "mallory"])).out).toBe(
      "mallory of api has no rule any more.\n",
    )
    expect((await run(["check", "api", "mallory"])).code).toBe(0)
    expect(await run(["rules", "remove", "api", "mallory"])).toMatchObject({
      code: 1,
      out: "mallory of api has no rule.\n",
    })
    const history = (await run(["rules", "history", "api", "--count", "2"])).out
    expect(history).toMatch(/mallory +remove\n.*mallory +block, until/)
  })

  test("set gives a prefix another limit, in YAML or JSON", async () => {
    const policy = "{algorithm: tokenBucket, capacity: 500, refill: 50, every: 1s}"
    const set = await run([
      "rules",
      "set",
      "api",
      "--pattern",
      "acme:*",
      "--policy",
      policy,
      "--until",
      "2099-01-31T12:00:00Z",
    ])
    expect(set).toEqual({ code: 0, out: "acme:* of api has a limit of its own now.\n", err: "" })
    expect((await run(["check", "api", "acme:7", "--json"])).out).toContain('"limit": 500')
    const [rule] = JSON.parse((await run(["rules", "list", "--json"])).out)
    expect(rule).toMatchObject({
      limiter: "api",
      pattern: "acme:*",
      action: "limit",
      until: "2099-01-31T12:00:00.000Z",
    })
    await run(["rules", "remove", "api", "--pattern", "acme:*"])
    expect((await run(["rules", "list"])).out).toBe("There are no rules.\n")
  })

  test.each(["list", "history"])("%s of a limiter that is not there exits with 2", async (action) => {
    const { code, out, err } = await run(["rules", action, "nosuch"])
    expect([code, out]).toEqual([2, ""])
    expect(err).toContain("no limiter is called nosuch; there are api, login, slow, turns, uploads\n")
    expect((await run(["rules", action, "slow"])).code).toBe(0)
  })

  test("rules of a limiter that the configuration no longer has are listed", async () => {
    await server.context.engine.rules.block({ limiter: "gone", key: "mallory" })
    const { code, out } = await run(["rules", "list", "gone"])
    expect([code, out]).toEqual([0, expect.stringContaining("mallory")])
    expect((await run(["rules", "remove", "gone", "mallory"])).code).toBe(0)
  })

  test("a rule that would change the algorithm is refused", async () => {
    const policy = '{"algorithm":"fixedWindow","limit":5,"window":"1m"}'
    const { code, err } = await run(["rules", "set", "api", "alice", "--policy", policy])
    expect([code, err]).toEqual([2, expect.stringContaining("algorithm")])
  })

  test("allow lets everything pass", async () => {
    await run(["rules", "allow", "login", "nagios", "--json"])
    for (let i = 0; i < 4; i += 1) expect((await run(["check", "login", "nagios"])).code).toBe(0)
    await run(["rules", "remove", "login", "nagios"])
  })
})

describe("sluice top", () => {
  const spend = (key: string, times: number) =>
    Promise.all(Array.from({ length: times }, () => server.context.engine.limiter("login")?.tryAcquire(key)))

  test("without a terminal it prints both lists once, with rates", async () => {
    await spend("loud", 9)
    const { code, out } = await run(["top", "login", "--interval", "20", "--count", "3"])
    expect(code).toBe(0)
    expect(out).toMatch(/^busiest keys +limiter +requests\/s +requests\n/)
    expect(out).toMatch(/loud +login +0\.0 +9\n/)
    expect(out).toMatch(/most denied keys +limiter +denials\/s +denials\nloud +login +0\.0 +7\n/)
    expect(out).not.toContain("\u001b")
  })

  test("a limiter that is not there exits with 2", async () => {
    for (const isInteractive of [false, true]) {
      const { code, out, err } = await run(["top", "nosuch", "--interval", "20"], {
        isInteractive,
        signal: AbortSignal.timeout(2_000),
      })
      expect([code, out]).toEqual([2, ""])
      expect(err).toContain("no limiter is called nosuch; there are api, login,")
    }
    // A limiter that nobody has used yet.
    expect((await run(["top", "uploads", "--interval", "20"])).code).toBe(0)
  })

  test("escape sequences in keys do not reach the terminal", async () => {
    await spend("\u001b]0;evil\u0007\u202e", 5)
    const { out } = await run(["top", "--interval", "20"])
    expect(out).toContain("\\u{1b}]0;evil\\u{7}\\u{202e}")
    expect(out).not.toContain("\u001b")
  })

  test("--json has both lists with counts per second", async () => {
    await spend("loud", 1)
    const rows = JSON.parse((await run(["top", "--json", "--interval", "20"])).out)
    expect(rows.busiest[0]).toMatchObject({ limiter: "login", key: "loud", perSecond: 0 })
    expect(Object.keys(rows)).toEqual(["busiest", "denied"])
  })

  test("on a terminal it redraws until Ctrl-C, and restores the cursor", async () => {
    const stop = new AbortController()
    let frames = 0
    const onOut = (piece: string) => {
      if (!piece.startsWith("\u001b[H")) return
      frames += 1
      if (frames === 2) void spend("live", 30)
      if (frames === 5) stop.abort()
    }
    const { code, out } = await run(["top", "--interval", "20"], {
      isInteractive: true,
      signal: stop.signal,
      onOut,
    })
    expect([code, frames]).toEqual([0, 5])
    expect(out.startsWith("\u001b[?1049h\u001b[?25l")).toBe(true)
    expect(out.endsWith("\u001b[?25h\u001b[?1049l")).toBe(true)
    expect(out.split("\u001b[H").at(-1)).toContain("live")
  })

  test("--once on a terminal takes no second screen", async () => {
    const { out } = await run(["top", "--once", "--interval", "20"], { isInteractive: true })
    expect(out).not.toContain("\u001b[?")
  })

  test("a server that goes away is shown, and the table comes back with it", async () => {
    let isDown = false
    const fake = createServer((_, response) => {
      if (isDown) response.writeHead(503).end("{}")
      else response.writeHead(200, { "content-type": "application/json" }).end("[]")
    })
    await new Promise<void>((resolve) => fake.listen(0, "127.0.0.1", resolve))
    onTestFinished(() => void fake.close())
    const stop = new AbortController()
    const frames: string[] = []
    const onOut = (piece: string) => {
      if (!piece.startsWith("\u001b[H")) return
      frames.push(piece)
      isDown = frames.length === 2
      if (frames.length === 5) stop.abort()
    }
    const url = `http://127.0.0.1:${(fake.address() as AddressInfo).port}`
    await run(["top", "--interval", "20", "--server", url], {
      isInteractive: true,
      signal: stop.signal,
      onOut,
    })
    expect(frames.map((frame) => frame.includes("the server answered 503"))).toEqual([
      false,
      false,
      true,
      false,
      false,
    ])
  })

  test("without a server it exits with 3 and leaves the terminal alone", async () => {
    const { code, out } = await run(["top", "--server", await closedUrl()], { isInteractive: true })
    expect([code, out]).toEqual([3, ""])
  })
})

test("a server that answers something else is no answer", async () => {
  const fake = createServer((_, response) => response.end("<html>hello</html>"))
  await new Promise<void>((resolve) => fake.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => void fake.close())
  const url = `http://127.0.0.1:${(fake.address() as AddressInfo).port}`
  expect((await run(["check", "api", "alice", "--server", url])).code).toBe(3)
})
