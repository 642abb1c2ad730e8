// Renders docs/benchmarks.md and its charts from the kept results, and from nothing else.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { barsOf, cellsOf, met } from "./bars.js"
import { sections } from "./case.js"
import { clusterLevels } from "./cases/cluster.js"
import { levels } from "./cases/in-flight.js"
import { networkLevels } from "./cases/network.js"
import { counts, kinds } from "./cases/policy-count.js"
import { type Chart, svgOf } from "./chart.js"
import {
  type Block,
  type Find,
  figures,
  formatted,
  markdownTable,
  notMeasured,
  pivot,
  several,
} from "./markdown.js"
import { allResults, type Results } from "./results.js"
import type { Result } from "./rounds.js"

const loop = ["rate", "nodeCpu", "redisCpu", "p50", "p99", "errors"]
const fleet = ["rate", "redisCpu", "nodeCpu", "perCall", "p50", "p99", "errors"]
const http = ["requests", "share", "serverCpu", "addedCpu", "httpP99", "errors"]
const service = ["requests", "ofStub", "serverCpu", "httpP50", "httpP99", "errors"]
const waiting = ["grantRate", "rateUsed", "longestGap", "ofLimit", "scriptsPerGrant", "commandsPerGrant"]

/** What stands between `<!-- bench:name -->` and `<!-- /bench:name -->`. */
const blocks: Record<string, Block> = {
  "in-flight": pivot("rate", byLevel("in-flight", levels)),
  "in-flight-256": figures("in-flight-256", loop),
  zipf: figures("zipf", loop),
  "script-delivery": pivot("rate", byLevel("script-delivery", [1, 32, 256])),
  "auto-pipelining": several(["auto-pipelining-32", "auto-pipelining-256"], loop),
  "fixed-rate": several(["fixed-rate-5000", "fixed-rate-20000"], ["p50", "p99", "errors"]),
  "physical-limit": figures("physical-limit", ["rate", "redisCpu"]),
  bytes: figures("redis-memory", ["usage", "bytesAfter1", "bytesAfter10"]),
  policies: figures("policies", loop),
  "three-policies": figures("three-policies", loop),
  costs: several(["budgets", "costs"], loop),
  "policy-count": policyCounts("redisCpu"),
  "policy-holds": policyCounts("p99Hold"),
  "policy-longest": policyCounts("longestHold"),
  "network-1": pivot("rate", byLevel("network-1", networkLevels)),
  "network-10": pivot("rate", byLevel("network-10", networkLevels)),
  fleet: several(["fleet-closed", "fleet-5000", "fleet-10000", "fleet-5000-ticks"], fleet),
  leases: figures("lease-processes", ["ofBound", "used"]),
  cluster: pivot("rate", byLevel("cluster", clusterLevels)),
  "hot-key": several(["hot-key-allowed", "hot-key-denied"], loop),
  "denied-calls": figures("denied-calls", ["rate", "calls", "seconds"]),
  waiting: several(["waiting-unthrottled", "waiting-200"], waiting),
  accuracy: figures("accuracy", ["admitted", "ofLimit"]),
  memory: several(["memory-warm", "memory-warm-anew", "memory-new"], ["rate", "nanoseconds"]),
  "memory-scale": figures("memory-scale", ["nanoseconds", "bytes", "megabytes"]),
  "http-express": several(["http-express-memory", "http-express-redis"], http),
  "http-fastify": several(["http-fastify-memory", "http-fastify-redis"], http),
  "http-koa": several(["http-koa-memory", "http-koa-redis"], http),
  "http-hono": several(["http-hono-memory", "http-hono-redis"], http),
  service: several(["service-http", "service-grpc", "service-redis"], service),
}

const charts: Record<
  string,
  { title: string; unit: string; figure: string; groups: Record<string, string> }
> = {
  throughput: {
    title: "Decisions over 10,000 keys, by how many are in flight",
    unit: "decisions per second on one Redis, more is better",
    figure: "rate",
    groups: Object.fromEntries(levels.map((level) => [`in-flight-${level}`, `${level} in flight`])),
  },
  network: {
    title: "10 ms added to each round trip",
    unit: "decisions per second, more is better",
    figure: "rate",
    groups: Object.fromEntries(networkLevels.map((level) => [`network-10-${level}`, `${level} in flight`])),
  },
  fleet: {
    title: "Four processes on one Redis, requests at a fixed rate",
    unit: "µs of Redis' processor time per decision, less is better",
    figure: "redisCpu",
    groups: { "fleet-5000": "5,000 requests a second", "fleet-10000": "10,000 requests a second" },
  },
  http: {
    title: "HTTP on Redis, 256 connections",
    unit: "µs of the server's processor time per request, less is better",
    figure: "serverCpu",
    groups: Object.fromEntries(
      ["express", "fastify", "koa", "hono"].map((framework) => [`http-${framework}-redis`, framework]),
    ),
  },
  "hot-key": {
    title: "One hot key, 256 in flight",
    unit: "decisions per second, more is better",
    figure: "rate",
    groups: { "hot-key-allowed": "allowed", "hot-key-denied": "denied" },
  },
  memory: {
    title: "In memory",
    unit: "decisions per second, more is better",
    figure: "rate",
    groups: { "memory-warm": "10,000 known keys", "memory-new": "new keys" },
  },
}

/** Puts the results into the page, draws the charts, and returns the files that it wrote. */
export function render(results: Results): string[] {
  const all = allResults(results)
  const find: Find = (id) => all.find((result) => result.id === id)
  const contents: Record<string, Block> = {
    ...blocks,
    environment: () => environments(results),
    bars: () => barsTable(all),
  }
  const written: string[] = []
  const save = (path: string, content: string) => {
    const url = new URL(`../${path}`, import.meta.url)
    mkdirSync(new URL(".", url), { recursive: true })
    writeFileSync(url, content)
    written.push(path)
  }
  const page = readFileSync(new URL("../docs/benchmarks.md", import.meta.url), "utf8")
  const filled = Object.entries(contents).reduce((text, [name, block]) => fill(text, name, block(find)), page)
  save("docs/benchmarks.md", filled)
  for (const [name, { title, unit, figure, groups }] of Object.entries(charts)) {
    const drawn = Object.entries(groups).flatMap(([id, label]) => chartGroup(find(id), label, figure))
    if (drawn.length > 0) save(`docs/benchmarks/${name}.svg`, svgOf({ title, unit, groups: drawn }))
  }
  return written
}

function fill(text: string, name: string, content: string): string {
  const pattern = new RegExp(`(<!-- bench:${name} -->\n)[^]*?(<!-- /bench:${name} -->)`)
  if (!pattern.test(text)) throw new Error(`docs/benchmarks.md has no place for ${name}`)
  return text.replace(pattern, (_, begin, end) => `${begin}\n${content}\n\n${end}`)
}

function byLevel(id: string, of: readonly number[]): Record<string, string> {
  return Object.fromEntries(of.map((level) => [`${level.toLocaleString("en")} in flight`, `${id}-${level}`]))
}

/** One figure of the case with 1 to 16 policies: a line per algorithm, a column per number of policies. */
function policyCounts(figure: string): Block {
  return (find) => {
    const { rows = [] } = find("policy-count") ?? {}
    if (rows.length === 0) return notMeasured
    const rowOf = (kind: string, count: number) =>
      rows.find(({ subject }) => subject === `${kind} × ${count}`)
    const lines = Object.keys(kinds).map((kind) => [
      kind,
      ...counts.map((count) => formatted(rowOf(kind, count), figure)),
    ])
    return markdownTable(["policies", ...counts.map(String)], lines)
  }
}

function barsTable(results: readonly Result[]): string {
  const bars = barsOf(results)
  const count = (verdict: boolean | undefined) => bars.filter((bar) => met(bar) === verdict).length
  const sum = `${count(true)} of ${bars.length} bars held, ${count(false)} were missed, ${count(undefined)} were not measured.`
  const lines = bars.map((bar) => {
    const { wanted, measured, verdict } = cellsOf(bar)
    return [`${bar.group}: ${bar.what}`, wanted, measured, verdict]
  })
  return `${sum}\n\n${markdownTable(["bar", "wanted", "measured", ""], lines)}`
}

/** When and where each section was measured. Cases of a section may come from different runs. */
function environments(results: Results): string {
  const lines = sections.flatMap((section) => {
    const measured = Object.values(results).filter((each) => each.section === section)
    const list = (field: "date" | "mode" | "node" | "redis" | "machine") =>
      [...new Set(measured.map(({ environment }) => environment[field]))].join(", ")
    if (measured.length === 0) return [[section, "not measured yet", "", "", ""]]
    return [[section, `${list("date")} (${list("mode")} run)`, list("machine"), list("node"), list("redis")]]
  })
  const packages = Object.assign({}, ...Object.values(results).map(({ environment }) => environment.packages))
  const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`)
  const table = markdownTable(["section", "measured", "machine", "Node", "server"], lines)
  return versions.length === 0 ? table : `${table}\n\nLibraries: ${versions.join(", ")}.`
}

function chartGroup(result: Result | undefined, label: string, figure: string): Chart["groups"] {
  const bars = (result?.rows ?? []).flatMap((row) => {
    const value = row.figures[figure]?.median
    return value === undefined ? [] : [{ name: row.subject, value }]
  })
  return bars.length === 0 ? [] : [{ label, bars }]
}
