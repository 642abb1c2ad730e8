import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { dice } from "../../../sluice/test/support/dice.js"
import type { SimulationReport } from "../../src/simulate/simulate.js"
import { temporaryFolder } from "../support/folder.js"
import { sluice } from "./fake-terminal.js"

const start = Date.UTC(2026, 9, 10, 13, 55, 36)
const window = '{"algorithm":"fixedWindow","limit":5,"window":"10s"}'

interface Hit {
  readonly time: number
  readonly key: string
  readonly cost: number
}

/** Traffic of a few keys with bursts, on whole seconds, in order. */
function traffic(seed: number, hits: number): Hit[] {
  const roll = dice(seed)
  let time = start
  return Array.from({ length: hits }, () => {
    time += roll(4) === 0 ? 1_000 * roll(6) : 0
    return { time, key: `10.0.0.${roll(8)}`, cost: 1 + roll(3) }
  })
}

const month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

/** The time of the common log format, in a zone two hours ahead of UTC. */
function commonTime(ms: number): string {
  const local = new Date(ms + 7_200_000)
  const two = (value: number) => String(value).padStart(2, "0")
  const day = `${two(local.getUTCDate())}/${month[local.getUTCMonth()]}/${local.getUTCFullYear()}`
  return `${day}:${two(local.getUTCHours())}:${two(local.getUTCMinutes())}:${two(local.getUTCSeconds())} +0200`
}

function combined({ time, key }: Hit, agent = "curl/8"): string {
  return `${key} - alice [${commonTime(time)}] "GET /a?b=c HTTP/1.1" 200 512 "https://example.com/" "${agent}"`
}

/** Counts denials of a fixed window that starts with the first request of a key: a few lines of arithmetic. */
function deniedByWindow(hits: readonly Hit[], limit: number, length: number): number {
  const windows = new Map<string, { end: number; used: number }>()
  let denied = 0
  for (const { time, key, cost } of hits) {
    let own = windows.get(key)
    if (own === undefined || time >= own.end) own = { end: time + length, used: 0 }
    windows.set(key, own)
    if (own.used + cost > limit) denied += 1
    else own.used += cost
  }
  return denied
}

/** Counts denials of a token bucket with a refill of one unit each `every` milliseconds. */
function deniedByBucket(hits: readonly Hit[], capacity: number, every: number): number {
  const buckets = new Map<string, { level: number; at: number }>()
  let denied = 0
  for (const { time, key, cost } of hits) {
    const before = buckets.get(key) ?? { level: capacity, at: time }
    const level = Math.min(capacity, before.level + (time - before.at) / every)
    const passes = level >= cost
    if (!passes) denied += 1
    buckets.set(key, { level: passes ? level - cost : level, at: time })
  }
  return denied
}

async function simulated(argv: readonly string[], input: string): Promise<SimulationReport> {
  const { code, out, err } = await sluice(["simulate", ...argv, "--json", "-"], { input })
  expect([code, err]).toEqual([0, ""])
  return JSON.parse(out) as SimulationReport
}

describe("the count of denials equals an independent computation", () => {
  const hits = traffic(7, 3_000)
  const ones = hits.map((hit) => ({ ...hit, cost: 1 }))

  test("for a fixed window over a combined log", async () => {
    const report = await simulated(["--policy", window], hits.map((hit) => combined(hit)).join("\n"))
    const denied = deniedByWindow(ones, 5, 10_000)
    expect(denied).toBeGreaterThan(100)
    expect(report).toMatchObject({
      format: "common",
      lines: 3_000,
      requests: 3_000,
      denied,
      allowed: 3_000 - denied,
    })
    expect(report.top.reduce((sum, each) => sum + each.denied, 0)).toBe(denied)
  })

  test("for a token bucket over CSV with costs", async () => {
    const policy = '{"algorithm":"tokenBucket","capacity":10,"refill":1,"every":"2s"}'
    const lines = hits.map(({ time, key, cost }) => `${time},${key},${cost}`)
    const report = await simulated(["--policy", policy], lines.join("\r\n"))
    expect(report).toMatchObject({ format: "csv", requests: 3_000, denied: deniedByBucket(hits, 10, 2_000) })
  })

  test("for JSON lines with fields of their own names", async () => {
    const lines = hits.map(({ time, key, cost }) =>
      JSON.stringify({ at: new Date(time).toISOString(), who: { id: key }, units: cost }),
    )
    const argv = ["--policy", window, "--by", "who.id", "--time-field", "at", "--cost-field", "units"]
    const report = await simulated(argv, lines.join("\n"))
    expect(report).toMatchObject({ format: "json", requests: 3_000, denied: deniedByWindow(hits, 5, 10_000) })
  })

  test("for several policies with costs by name, and says which policy denied", async () => {
    const policy =
      "{requests: {algorithm: fixedWindow, limit: 3, window: 10s}, bytes: {algorithm: fixedWindow, limit: 4, window: 10s}}"
    const lines = hits.map(({ time, key, cost }) => `${time / 1_000},${key},${cost}`)
    const report = await simulated(["--policy", policy, "--cost-field", "bytes=cost"], lines.join("\n"))
    const windows = new Map<string, { end: number; requests: number; bytes: number }>()
    let denied = 0
    for (const { time, key, cost } of hits) {
      let own = windows.get(key)
      if (own === undefined || time >= own.end) own = { end: time + 10_000, requests: 0, bytes: 0 }
      windows.set(key, own)
      if (own.requests + 1 > 3 || own.bytes + cost > 4) denied += 1
      else [own.requests, own.bytes] = [own.requests + 1, own.bytes + cost]
    }
    expect(report).toMatchObject({ requests: 3_000, denied })
    expect(report.deniedBy["bytes"]).toBeGreaterThan(0)
  })
})

describe("sluice simulate", () => {
  let dir: string
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), "sluice-simulate-"))
  })
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  const burst = (key: string, count: number, time = start): Hit[] =>
    Array.from({ length: count }, () => ({ time, key, cost: 1 }))
  const log = (hits: readonly Hit[]) => `${hits.map((hit) => combined(hit)).join("\n")}\n`

  test("reports totals, the share, the worst key with its peak rate, and a timeline", async () => {
    const hits = [...burst("10.0.0.1", 8), ...burst("10.0.0.2", 3), ...burst("10.0.0.1", 2, start + 5_000)]
    const { code, out } = await sluice(["simulate", "--policy", window, "-"], { input: log(hits) })
    expect(code).toBe(0)
    expect(out).toContain("requests  13, 2026-10-10 13:55:36 to 2026-10-10 13:55:41 (5 s)")
    expect(out).toContain("denied    5 (38.5 %)")
    expect(out).toMatch(/10\.0\.0\.1 +5 +10 +50\.0 % +8\/s/)
    expect(out).toContain("The worst key is 10.0.0.1, with up to 8 requests in one second.")
    expect(out).toContain("requests  █    ▂")
    expect(out).toContain("denied    ▃    ▂")
  })

  test("the policy can come from a limiter of a configuration file", async () => {
    const path = join(dir, "sluice.yaml")
    writeFileSync(path, "limiters:\n  api:\n    policy: { algorithm: fixedWindow, limit: 2, window: 1m }\n")
    const logFile = join(dir, "access.log")
    writeFileSync(logFile, log(burst("10.0.0.1", 5)))
    const { code, out } = await sluice(["simulate", "--config", path, "--limiter", "api", logFile, "--json"])
    expect([code, JSON.parse(out).denied]).toEqual([0, 3])
    const other = await sluice(["simulate", "--config", path, "--limiter", "web", logFile])
    expect([other.code, other.err]).toEqual([
      2,
      expect.stringContaining("there is no limiter web; there are api"),
    ])
  })

  test("lines that cannot be read are counted and shown, and the rest counts", async () => {
    const input = `${log(burst("10.0.0.1", 6))}garbage \u001b[2J\n\n${log(burst("10.0.0.1", 1)).replace("Oct", "Foo")}`
    const { code, out } = await sluice(["simulate", "--policy", window, "-"], { input })
    expect(code).toBe(0)
    expect(out).toContain("2 lines could not be read:\n  line 7: garbage \\u{1b}[2J\n  line 9: 10.0.0.1 ")
    expect(out).not.toContain("\u001b")
    expect(out).toContain("denied    1 (16.7 %)")
  })

  test("a log whose first line is cut is read from the second line on", async () => {
    const input = `:36 +0000] "GET / HTTP/1.1" 200 5\n${log(burst("a", 6))}`
    expect(await simulated(["--policy", window], input)).toMatchObject({
      format: "common",
      requests: 6,
      denied: 1,
      unreadable: { count: 1 },
    })
  })

  test("a log of which nothing can be read exits with 1", async () => {
    const { code, err } = await sluice(["simulate", "--policy", window, "-"], { input: "a\nb\n" })
    expect([code, err]).toEqual([1, "sluice simulate: no line of - is a request with a key\n"])
  })

  test("an empty log exits with 1", async () => {
    expect((await sluice(["simulate", "--policy", window, "-"], { input: "" })).code).toBe(1)
  })

  test("a file that is not there is a mistake in the call", async () => {
    const { code, err } = await sluice(["simulate", "--policy", window, join(dir, "none.log")])
    expect([code, err]).toEqual([2, expect.stringContaining("there is no such file")])
  })

  test("lines up to a minute out of order count at the time of the line before", async () => {
    const hits = [
      ...burst("a.b.c.d", 4),
      ...burst("a.b.c.d", 2, start - 30_000),
      ...burst("a.b.c.d", 1, start - 90_000),
    ]
    const report = await simulated(["--policy", window], log(hits))
    expect(report).toMatchObject({ requests: 6, denied: 1, late: 2, tooOld: 1 })
  })

  test("the key can be the user, the path or the user agent of a combined log", async () => {
    const input = [
      combined({ time: start, key: "a", cost: 1 }, 'bot \\"x\\"'),
      combined({ time: start, key: "b", cost: 1 }, "bot"),
    ].join("\n")
    const one = '{"algorithm":"fixedWindow","limit":1,"window":"10s"}'
    for (const [by, denied] of [
      ["user", 1],
      ["path", 1],
      ["method", 1],
      ["header:user-agent", 0],
      ["address", 0],
    ] as const) {
      expect((await simulated(["--policy", one, "--by", by], input)).denied).toBe(denied)
    }
  })

  test("a field that the format does not have leaves every line without a key", async () => {
    const { code, out } = await sluice(["simulate", "--policy", window, "--by", "tenant", "--json", "-"], {
      input: log(burst("a", 3)),
    })
    expect([code, JSON.parse(out).withoutKey]).toEqual([1, 3])
  })

  test("the logs of Caddy, of nginx as JSON and of Traefik are read without options", async () => {
    const caddy = { ts: start / 1_000, request: { remote_ip: "192.0.2.1", headers: { "X-Api-Key": ["k1"] } } }
    const nginx = {
      time_iso8601: "2026-10-10T13:55:36+00:00",
      remote_addr: "192.0.2.1",
      http_x_api_key: "k1",
    }
    const traefik = { StartUTC: "2026-10-10T13:55:36.123456789Z", ClientHost: "192.0.2.1" }
    const one = '{"algorithm":"fixedWindow","limit":1,"window":"10s"}'
    for (const line of [caddy, nginx, traefik]) {
      const input = `${JSON.stringify(line)}\n`.repeat(2)
      const report = await simulated(["--policy", one], input)
      expect(report).toMatchObject({ denied: 1, top: [{ key: "192.0.2.1" }], unreadable: { count: 0 } })
      expect(report.from).toBeGreaterThanOrEqual(start)
      expect(report.from).toBeLessThan(start + 1_000)
      if (line === traefik) continue
      expect((await simulated(["--policy", one, "--by", "header:x-api-key"], input)).top[0]?.key).toBe("k1")
    }
  })

  test("a CSV file may have a header and quoted keys", async () => {
    const input = `path,time,who\n/a,${start},"x, ""y"""\n/b,${start},"x, ""y"""\n`
    const report = await simulated(
      ["--policy", '{"algorithm":"fixedWindow","limit":1,"window":"1s"}', "--by", "who"],
      input,
    )
    expect(report).toMatchObject({
      lines: 3,
      requests: 2,
      top: [{ key: 'x, "y"', denied: 1 }],
      unreadable: { count: 0 },
    })
  })

  test("an IPv6 address and a virtual host before the address are understood", async () => {
    const line = combined({ time: start, key: "2001:db8::1", cost: 1 })
    const report = await simulated(
      ["--policy", '{"algorithm":"fixedWindow","limit":1,"window":"1s"}'],
      `${line}\nexample.com:443 ${line}\n`,
    )
    expect(report).toMatchObject({ denied: 1, top: [{ key: "2001:db8::1" }] })
  })

  test("bytes of a common log can be the cost, and a request without any is free", async () => {
    const line = (bytes: string) => `10.0.0.1 - - [${commonTime(start)}] "GET / HTTP/1.0" 200 ${bytes}`
    const argv = [
      "--policy",
      '{"algorithm":"fixedWindow","limit":100,"window":"1s"}',
      "--cost-field",
      "bytes",
    ]
    const report = await simulated(argv, [line("60"), line("60"), line("-"), line("40")].join("\n"))
    expect(report).toMatchObject({ requests: 4, denied: 1, unreadable: { count: 0 } })
  })

  test("costs that are not whole numbers make a line unreadable", async () => {
    const lines = ["-1", "1.5", "NaN", "9007199254740993", "x", "2"].map((cost) => `${start},k,${cost}`)
    expect(await simulated(["--policy", window], lines.join("\n"))).toMatchObject({
      requests: 1,
      unreadable: { count: 5 },
    })
  })

  test("keys with braces, emoji and 10 kB are counted as they are", async () => {
    const keys = ["{a}:b", "👩‍🚒", "x".repeat(10_000), "a\u0000b"]
    const lines = keys.flatMap((k) => Array.from({ length: 7 }, () => JSON.stringify({ time: start, k })))
    const report = await simulated(["--policy", window, "--by", "k"], lines.join("\n"))
    expect(report.denied).toBe(8)
    expect(new Set(report.top.map(({ key }) => key))).toEqual(new Set(keys))
  })

  test("a line without end is given up after a megabyte, and the next line counts", async () => {
    const input = `${log(burst("a", 1))}${"x".repeat(2_500_000)}\n${log(burst("a", 1))}`
    expect(await simulated(["--policy", window], input)).toMatchObject({
      lines: 3,
      requests: 2,
      unreadable: { count: 1 },
    })
  })

  test("on a terminal, a progress line goes to standard error and is cleared at the end", async () => {
    const hits = Array.from({ length: 20_000 }, (_, i) => ({ time: start + i, key: `k${i % 100}`, cost: 1 }))
    const path = join(dir, "long.log")
    writeFileSync(path, log(hits))
    const { err, out } = await sluice(["simulate", "--policy", window, path], { isInteractive: true })
    expect(err.endsWith("\r\u001b[K")).toBe(true)
    expect(out).toContain("20,000")
  })

  test("Ctrl-C ends the reading and reports the part that was read", async () => {
    const stop = new AbortController()
    stop.abort()
    const { code, err } = await sluice(["simulate", "--policy", window, "-"], {
      input: log(burst("a", 9)),
      signal: stop.signal,
    })
    expect([code, err]).toEqual([1, expect.stringContaining("interrupted")])
  })
})

describe("an input that is no log", () => {
  test("a folder exits with 2 and says how to join its files", async () => {
    const folder = temporaryFolder()
    const { code, out, err } = await sluice(["simulate", "--policy", window, folder])
    expect([code, out]).toEqual([2, ""])
    expect(err).toContain(`${folder} is a folder; join its logs: cat ${folder}/* | sluice simulate … -\n`)
  })

  test("a file or an input in gzip exits with 2 and says how to unpack it", async () => {
    const folder = temporaryFolder()
    const packed = gzipSync('192.0.2.1 - - [18/Nov/2026:09:00:00 +0000] "GET / HTTP/1.1" 200 1\n')
    const path = join(folder, "access.log.gz")
    writeFileSync(path, packed)
    const file = await sluice(["simulate", "--policy", window, path])
    expect([file.code, file.out]).toEqual([2, ""])
    expect(file.err).toContain(`${path} is packed with gzip; unpack it: zcat ${path} | sluice simulate … -\n`)
    const piped = await sluice(["simulate", "--policy", window, "-"], { input: packed })
    expect([piped.code, piped.out]).toEqual([2, ""])
    expect(piped.err).toContain(
      "standard input is packed with gzip; unpack it: zcat … | sluice simulate … -\n",
    )
  })
})
