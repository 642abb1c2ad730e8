import { readFileSync } from "node:fs"
import { metrics as otelMetrics, trace } from "@opentelemetry/api"
import {
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics"
import parsePrometheus from "parse-prometheus-text-format"
import { Registry } from "prom-client"
import { createLimiter, fixedWindow } from "sluice"
import {
  channels,
  type DecisionEvent,
  listen,
  openTelemetry,
  prometheus,
  publishEvents,
  type SluiceEvent,
} from "sluice/telemetry"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { instruments } from "../../src/telemetry/instruments.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import { busyRun } from "./busy-run.js"

const read = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8")
const all = Object.values(instruments)

let server: RedisServer
let text: string
let events: { event: SluiceEvent; key: string | undefined }[]
const received: { name: string; unit: string; attributes: Record<string, unknown>[] }[] = []
const spans: Record<string, unknown>[] = []

beforeAll(async () => {
  server = await startRedis()
  const registry = new Registry()
  const exporter = new InMemoryMetricExporter(0)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 60_000 })
  const provider = new MeterProvider({ readers: [reader] })
  events = []
  const stops = [
    prometheus(registry),
    openTelemetry(provider.getMeter("sluice"), {
      activeSpan: () => ({ setAttributes: (attributes) => spans.push(attributes) }),
    }),
    listen((event, key) => events.push({ event, key })),
  ]
  await busyRun(server)
  text = await registry.metrics()
  await provider.forceFlush()
  for (const { scopeMetrics } of exporter.getMetrics()) {
    for (const { metrics } of scopeMetrics) {
      for (const { descriptor, dataPoints } of metrics) {
        const attributes = dataPoints.map((point) => point.attributes as Record<string, unknown>)
        if (dataPoints.length > 0) received.push({ name: descriptor.name, unit: descriptor.unit, attributes })
      }
    }
  }
  for (const stop of stops) stop()
  await provider.shutdown()
})
afterAll(() => server.stop())

/** The metrics that have at least one sample, as an independent parser reads them. */
const scraped = () => parsePrometheus(text).filter(({ metrics }) => metrics.length > 0)

describe("events", () => {
  test("an event of every type is told, and none contains a key", () => {
    expect([...new Set(events.map(({ event }) => event.type))].sort()).toEqual(Object.keys(channels).sort())
    expect(events.every(({ key }) => key === undefined)).toBe(true)
    expect(JSON.stringify(events)).not.toMatch(/ann|bob|blocked/)
  })

  test("every started wait and every taken lease ends", () => {
    const count = (type: string, change: string) =>
      events.filter(({ event }) => event.type === type && "change" in event && event.change === change).length
    expect(count("wait", "started")).toBe(4)
    expect(count("wait", "ended")).toBe(4)
    expect(count("lease", "taken")).toBeGreaterThan(0)
    expect(count("lease", "returned")).toBe(count("lease", "taken"))
  })

  test("a listener that asks for keys is given them, and one that throws harms nobody", async () => {
    const keys: unknown[] = []
    const stops = [
      listen(() => {
        throw new Error("a listener that fails")
      }),
      listen((_, key) => keys.push(key), { keys: true }),
    ]
    onTestFinished(() => {
      for (const stop of stops) stop()
    })
    const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: "1m" }) })
    expect((await limiter.tryAcquire("ann")).allowed).toBe(true)
    expect(keys).toEqual(["ann"])
    await limiter.peek("bob")
    expect(keys).toEqual(["ann"])
  })

  test("diagnostics_channel carries events, with keys only on request", async () => {
    const messages: unknown[] = []
    const onMessage = (message: unknown) => messages.push(message)
    channels.decision.subscribe(onMessage)
    onTestFinished(() => {
      channels.decision.unsubscribe(onMessage)
    })
    const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: "1m" }) })
    const withoutKeys = publishEvents()
    await limiter.tryAcquire("ann")
    withoutKeys()
    const withKeys = publishEvents({ keys: true })
    await limiter.tryAcquire("ann")
    withKeys()
    await limiter.tryAcquire("ann")
    expect(messages).toHaveLength(2)
    expect(messages[0]).toMatchObject({ type: "decision", outcome: "allowed", costs: [1] })
    expect(messages[0]).not.toHaveProperty("key")
    expect(messages[1]).toMatchObject({ outcome: "denied", key: "ann" })
  })

  test("a combined denial is told of the limiter that denied, under its own policy names", async () => {
    const denied: DecisionEvent[] = []
    const { combine, memoryStore } = await import("sluice")
    const store = memoryStore()
    const a = createLimiter({ name: "a", policy: fixedWindow({ limit: 1, window: "1m" }), store })
    const b = createLimiter({ name: "b", policy: fixedWindow({ limit: 9, window: "1m" }), store })
    const both = combine([a.on("k"), b.on("k")])
    await both.tryAcquire()
    onTestFinished(listen((event) => event.type === "decision" && denied.push(event)))
    await both.tryAcquire()
    expect(denied.map(({ limiter, outcome, decision }) => [limiter, outcome, decision?.policy])).toEqual([
      ["a", "denied", "default"],
    ])
  })
})

describe("Prometheus", () => {
  test("a scrape has a sample of every metric, with the type and the labels that are documented", () => {
    const types = { counter: "COUNTER", gauge: "GAUGE", updown: "GAUGE", histogram: "HISTOGRAM" }
    expect(Object.fromEntries(scraped().map(({ name, type }) => [name, type]))).toEqual(
      Object.fromEntries(all.map(({ prometheus, kind }) => [prometheus, types[kind]])),
    )
    for (const { prometheus, kind, labels } of all) {
      // the parser drops the labels of histograms, so that all of them are read from the text
      const sample = new RegExp(`^${prometheus}${kind === "histogram" ? "_count" : ""}(?:\\{(.*)\\})? `, "gm")
      const lines = [...text.matchAll(sample)]
      expect(lines.length, prometheus).toBeGreaterThan(0)
      for (const [, inBraces = ""] of lines) {
        const found = [...inBraces.matchAll(/([a-z_]+)="/g)].map(([, label]) => label)
        expect(found.sort(), prometheus).toEqual(labels.map((label) => label.replace(".", "_")).sort())
      }
    }
  })

  test("decisions are counted by outcome and source", () => {
    const value = (name: string, labels: object) => {
      const metric = scraped().find((each) => each.name === name)
      const found = metric?.metrics.find((each) =>
        expect.objectContaining(labels).asymmetricMatch(each.labels),
      )
      return Number(found?.value)
    }
    const api = { limiter: "api", policy: "burst" }
    expect(value("sluice_decisions_total", { ...api, outcome: "denied", source: "rule" })).toBe(1)
    expect(value("sluice_policy_limit", api)).toBe(5)
    expect(value("sluice_policy_limit", { limiter: "api", policy: "daily" })).toBe(50)
    expect(value("sluice_near_limit_total", api)).toBe(2)
    expect(value("sluice_cost_total", { limiter: "api", policy: "daily" })).toBe(5 + 10 + 3 + 1)
    expect(value("sluice_would_deny_total", { limiter: "watched" })).toBe(2)
    expect(value("sluice_decisions_total", { limiter: "watched", outcome: "would_wait" })).toBe(1)
    expect(value("sluice_failed_open_total", { limiter: "lost" })).toBe(8)
    expect(value("sluice_breaker_state", { limiter: "lost" })).toBe(1)
    expect(value("sluice_waiter_count", { limiter: "queue" })).toBe(0)
    expect(value("sluice_reservation_active", { limiter: "api" })).toBe(0)
  })

  test("no label contains a key", () => {
    expect(text).not.toMatch(/ann|bob|"blocked"/)
  })

  test("the number of series is bounded, whatever names callers bring", async () => {
    const registry = new Registry()
    onTestFinished(prometheus(registry))
    const policy = fixedWindow({ limit: 1, window: "1m" })
    for (let i = 0; i < 2_100; i += 1) await createLimiter({ name: `n${i}`, policy }).tryAcquire("k")
    const metric = parsePrometheus(await registry.metrics()).find(({ name }) => name === "sluice_cost_total")
    expect(metric?.metrics.length).toBeLessThanOrEqual(2_001)
    expect(metric?.metrics.find(({ labels }) => labels?.["limiter"] === "_other")?.value).toBe("100")
  })
})

describe("OpenTelemetry", () => {
  test("an SDK receives every instrument, with its unit and its attributes", () => {
    expect(received.map(({ name }) => name).sort()).toEqual(all.map(({ name }) => name).sort())
    for (const { name, unit, attributes } of received) {
      const instrument = all.find((each) => each.name === name)
      expect(unit).toBe(instrument?.unit)
      const labels = (instrument?.labels ?? []).map((each) =>
        each === "error.type" ? each : `sluice.${each}`,
      )
      for (const each of attributes) expect(labels).toEqual(expect.arrayContaining(Object.keys(each)))
    }
  })

  test("decisions set attributes of the active span, and the key is not among them", () => {
    expect(spans).toContainEqual({
      "sluice.limiter": "api",
      "sluice.outcome": "denied",
      "sluice.policy": "burst",
      "sluice.source": "rule",
      "sluice.degraded": false,
    })
    expect(JSON.stringify(spans)).not.toMatch(/ann|bob/)
  })

  test("the types of @opentelemetry/api and prom-client are accepted", () => {
    const stop = openTelemetry(otelMetrics.getMeter("sluice"), { activeSpan: () => trace.getActiveSpan() })
    stop()
    prometheus(new Registry())()
  })
})

describe("names", () => {
  test.each(all)("$name keeps the conventions of OpenTelemetry", ({ name, kind, unit, labels }) => {
    expect(name).toMatch(/^sluice(\.[a-z]+(_[a-z]+)*)+$/)
    expect(name).not.toMatch(/total|seconds|_s$/)
    expect(unit).toMatch(/^(s|1|\{[a-z]+\})$/)
    if (kind === "updown") expect(name).toMatch(/\.(active|count)$/)
    if (name.endsWith("duration")) expect([kind, unit]).toEqual(["histogram", "s"])
    for (const label of labels) expect(label).toMatch(/^[a-z]+(\.type)?$/)
  })

  test.each(all)("$prometheus keeps the conventions of Prometheus", ({ prometheus, kind, unit }) => {
    expect(prometheus).toMatch(/^sluice(_[a-z]+)+$/)
    expect(prometheus.endsWith("_total")).toBe(kind === "counter")
    expect(prometheus.endsWith("_seconds")).toBe(unit === "s")
  })

  test("docs/metrics.md lists every metric with its unit and labels, and no other", () => {
    const rows = [
      ...read("docs/metrics.md").matchAll(/^\| `(sluice\.[\w.]+)` \| `(\w+)` \| ([^|]+) \| ([^|]+) \|/gm),
    ]
    const listed = rows.map(([, name, prometheus, unit, labels]) => [name, prometheus, unit, labels])
    const expected = all.map(({ name, prometheus, unit, labels }) => [
      name,
      prometheus,
      `\`${unit}\``,
      labels.map((label) => `\`${label}\``).join(", ") || "–",
    ])
    expect(listed).toEqual(expected)
  })
})

describe("dashboard and alerts", () => {
  /** Every metric that a query names. */
  const namesIn = (query: string) => [...query.matchAll(/\bsluice_[a-z_]+/g)].map(([name]) => name)
  const emitted = () =>
    new Set(
      scraped().flatMap(({ name, type }) =>
        type === "HISTOGRAM" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    )
  const dashboard = () => JSON.parse(read("docs/grafana/sluice.json"))
  interface Panel {
    readonly type: string
    readonly title: string
    readonly targets?: { readonly expr: string; readonly datasource: unknown }[]
  }

  test("every query of the Grafana dashboard names metrics that a real run emits", () => {
    const { panels, templating } = dashboard() as {
      panels: Panel[]
      templating: { list: { query: unknown }[] }
    }
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    expect(queries.length).toBeGreaterThanOrEqual(14)
    const variables = templating.list
      .map(({ query }) => JSON.stringify(query))
      .filter((each) => /sluice_/.test(each))
    expect(variables).toHaveLength(2)
    for (const query of [...queries, ...variables]) {
      expect(namesIn(query).length, query).toBeGreaterThan(0)
      for (const name of namesIn(query)) expect(emitted(), query).toContain(name)
    }
  })

  test("the dashboard has rows, a data source variable, and a limiter and policy variable that its queries use", () => {
    const { panels, templating } = dashboard() as {
      panels: Panel[]
      templating: { list: { name: string }[] }
    }
    expect(templating.list.map(({ name }) => name)).toEqual(["datasource", "limiter", "policy"])
    for (const { targets = [] } of panels) {
      for (const { expr, datasource } of targets) {
        expect(datasource).toEqual({ type: "prometheus", uid: "$" + "{datasource}" })
        const limited = namesIn(expr).some((name) =>
          all.some(({ prometheus, labels }) => name.startsWith(prometheus) && labels.includes("limiter")),
        )
        if (limited) expect(expr).toContain('limiter=~"$limiter"')
      }
    }
  })

  test("every alert names metrics that a real run emits, and has a heading that says what to do", () => {
    const alerts = read("docs/grafana/alerts.yml")
    const names = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name]) => name)
    const queries = [...alerts.matchAll(/expr: (.+)/g)].map(([, query]) => query as string)
    expect(queries).toHaveLength(names.length)
    for (const query of queries) for (const name of namesIn(query)) expect(emitted(), query).toContain(name)
    const headings = read("docs/alerts.md").match(/(?<=^## ).+$/gm)
    expect(headings).toEqual(names)
  })
})
