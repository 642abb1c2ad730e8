import { clusterLevels } from "./cases/cluster.js"
import { counts, kinds } from "./cases/policy-count.js"
import type { Result } from "./rounds.js"
import { baseline } from "./subject.js"

/** What we aim for, and what was measured. */
export interface Bar {
  readonly group: string
  readonly what: string
  readonly least?: number
  readonly most?: number
  /** Undefined if the case did not run, or measured no such figure. */
  readonly measured: number | undefined
}

export function met({ least, most, measured }: Bar): boolean | undefined {
  if (measured === undefined) return undefined
  return (least === undefined || measured >= least) && (most === undefined || measured <= most)
}

type Wanted = { readonly least: number } | { readonly most: number }

/** Every bar, measured by these results. */
export function barsOf(results: readonly Result[]): Bar[] {
  const figure = (id: string, subject: string, name: string): number | undefined =>
    results.find((result) => result.id === id)?.rows.find((row) => row.subject === subject)?.figures[name]
      ?.median
  const ratio = (id: string, subject: string, to: string, name = "rate") =>
    quotient(figure(id, subject, name), figure(id, to, name))

  const groupOf = (group: string) => ({
    bar: (what: string, wanted: Wanted, measured: number | undefined): Bar => ({
      group,
      what,
      ...wanted,
      measured,
    }),
    /** Decisions per second of a subject, to those of a peer. */
    faster: (id: string, least: number, what: string, subject = "sluice", to = baseline): Bar => ({
      group,
      what: to === baseline ? what : `${what}, to ${to}`,
      least,
      measured: ratio(id, subject, to),
    }),
  })

  const loopback = groupOf(`decisions/s, to ${baseline}`)
  const network = groupOf(`network and fleet, to ${baseline}`)
  const cost = groupOf("cost in Redis")
  const hot = groupOf("hot keys and leases")
  const memory = groupOf("memory store")
  const http = groupOf("HTTP, to the framework's usual limiter")
  const service = groupOf("rate limit server")

  return [
    ...Object.entries({ 1: 0.85, 8: 0.95, 32: 1.7, 256: 3, 1024: 3 }).map(([level, least]) =>
      loopback.faster(`in-flight-${level}`, least, `token bucket, ${level} in flight`),
    ),
    ...Object.entries({
      fixedWindow: 2.5,
      leakyBucket: 2.5,
      "tokenBucket by intervals": 2.5,
      "tokenBucket, 30 a second": 2.5,
      slidingLog: 1.5,
      slidingWindow: 1.5,
    }).map(([policy, least]) =>
      loopback.faster("policies", least, `${policy}, 256 in flight`, `sluice ${policy}`),
    ),
    loopback.faster("three-policies", 3.5, "three named policies, to its union of three"),
    loopback.faster("script-delivery-256", 2.5, "by EVALSHA, 256 in flight", "sluice, by EVALSHA"),
    loopback.faster("auto-pipelining-256", 2.5, "auto-pipelining, 256 in flight", "sluice, auto-pipelining"),
    loopback.bar(
      "Node CPU per decision, 256 in flight",
      { most: 0.3 },
      ratio("in-flight-256", "sluice", baseline, "nodeCpu"),
    ),

    network.faster("network-10-1024", 1, "10 ms more, 1,024 in flight"),
    network.faster("network-1-256", 1.5, "1 ms more, 256 in flight"),
    ...clusterLevels
      .map((level) => [level, { 32: 0.95, 256: 1.5 }[level]] as const)
      .flatMap(([level, least]) =>
        least === undefined
          ? []
          : [network.faster(`cluster-${level}`, least, `Cluster of three masters, ${level} in flight`)],
      ),
    network.bar(
      "four processes, 5,000/s in all: Redis CPU per decision",
      { most: 1 },
      ratio("fleet-5000", "sluice", baseline, "redisCpu"),
    ),
    network.bar(
      "four processes, 5,000/s in ticks of 5 ms: Redis CPU per decision",
      { most: 1 },
      ratio("fleet-5000-ticks", "sluice", baseline, "redisCpu"),
    ),

    ...Object.keys(kinds).map((kind) =>
      cost.bar(`${kind}, twice the policies: Redis CPU`, { most: 2 }, worstDoubling(kind)),
    ),
    cost.bar(
      "one call holds Redis, 99 % of calls, any number of policies: µs",
      { most: 1_000 },
      longestHold(),
    ),
    cost.bar(
      "bytes per key, token bucket (MEMORY USAGE)",
      { most: 150 },
      figure("redis-memory", "sluice tokenBucket", "usage"),
    ),
    ...["tokenBucket", "leakyBucket"].map((policy) =>
      cost.bar(
        `1,000 wait, 200 a second, ${policy}: calls per grant`,
        { most: 1.1 },
        figure("waiting-200", `sluice ${policy}`, "scriptsPerGrant"),
      ),
    ),

    hot.faster("hot-key-denied", 25, `denied hot key: decisions/s, to ${baseline}`),
    hot.faster("hot-key-denied", 4, "denied hot key: decisions/s", "sluice", `${baseline}, block cache`),
    hot.bar("denied hot key: calls to Redis per second", { most: 1 }, deniedCalls()),
    hot.faster("hot-key-allowed", 20, `leased hot key: decisions/s, to ${baseline}`, "sluice, leased"),
    hot.bar(
      "four processes with leases: most admitted, to the documented bound",
      { most: 1 },
      figure("lease-processes", "sluice, leased", "ofBound"),
    ),
    hot.bar(
      "four processes with leases: share of the limit used",
      { least: 0.95 },
      figure("lease-processes", "sluice, leased", "used"),
    ),

    memory.faster("memory-warm", 1.2, `10,000 known keys: decisions/s, to ${baseline}`),
    memory.bar("a million keys: MB", { most: 400 }, figure("memory-scale", "sluice, 1 M keys", "megabytes")),
    memory.bar(
      "a decision among 1 M keys, to one among 1 k",
      { most: 3 },
      quotient(
        figure("memory-scale", "sluice, 1 M keys", "nanoseconds"),
        figure("memory-scale", "sluice, 1 k keys", "nanoseconds"),
      ),
    ),

    ...Object.entries({ express: "express-rate-limit", fastify: "@fastify/rate-limit" }).flatMap(
      ([framework, usual]) => [
        http.bar(
          `${framework}, memory: server CPU per allowed request`,
          { most: 1 },
          ratio(`http-${framework}-memory`, "sluice, allowed", `${usual}, allowed`, "serverCpu"),
        ),
        http.bar(
          `${framework}, memory: requests/s`,
          { least: 1 },
          ratio(`http-${framework}-memory`, "sluice, allowed", `${usual}, allowed`, "requests"),
        ),
        http.bar(
          `${framework}, Redis, 256 connections: CPU added per request`,
          { most: 0.7 },
          ratio(`http-${framework}-redis`, "sluice, allowed", `${usual}, allowed`, "addedCpu"),
        ),
      ],
    ),

    ...["http", "grpc"].map((protocol) =>
      service.bar(
        `${protocol === "http" ? "HTTP" : "gRPC"}, memory: requests/s, to the same route with a stubbed limiter`,
        { least: 0.7 },
        ratio(`service-${protocol}`, "sluice", "stubbed", "requests"),
      ),
    ),
    service.bar(
      "HTTP, Redis, 1,000 callers: errors",
      { most: 0 },
      figure("service-redis", "sluice", "errors"),
    ),
  ]

  /** How much more Redis time a request takes when the number of its policies doubles, at the worst step. */
  function worstDoubling(kind: string): number | undefined {
    const times = counts.map((count) => figure("policy-count", `${kind} × ${count}`, "redisCpu"))
    const steps = times.slice(1).map((time, index) => quotient(time, times[index]))
    return steps.some((step) => step === undefined) ? undefined : Math.max(...(steps as number[]))
  }

  function longestHold(): number | undefined {
    const all = Object.keys(kinds).flatMap((kind) =>
      counts.map((count) => figure("policy-count", `${kind} × ${count}`, "p99Hold")),
    )
    return all.some((each) => each === undefined) ? undefined : Math.max(...(all as number[]))
  }

  function deniedCalls(): number | undefined {
    const perSecond = figure("denied-calls", "sluice", "calls")
    const seconds = figure("denied-calls", "sluice", "seconds")
    // A span of n seconds may begin with a call, so it holds one more than n.
    return perSecond === undefined || seconds === undefined ? undefined : Math.max(0, perSecond - 1 / seconds)
  }
}

function quotient(above: number | undefined, below: number | undefined): number | undefined {
  return above === undefined || below === undefined ? undefined : above / below
}

/** The cells of a bar, for the console and the page. */
export function cellsOf(bar: Bar): { wanted: string; measured: string; verdict: string } {
  return {
    wanted: bar.least === undefined ? `at most ${bar.most}` : `at least ${bar.least}`,
    measured: bar.measured?.toFixed(bar.measured >= 100 ? 0 : 2) ?? "–",
    verdict: { true: "held", false: "**missed**", undefined: "not measured" }[`${met(bar)}`],
  }
}

export function barsText(bars: readonly Bar[]): string {
  const width = Math.max(0, ...bars.map(({ what }) => what.length))
  const lines = bars.map((bar) => {
    const { wanted, measured, verdict } = cellsOf(bar)
    return `  ${bar.what.padEnd(width)}  ${wanted.padEnd(13)}  ${measured.padStart(8)}  ${verdict}`
  })
  return ["Bars", ...lines].join("\n")
}
