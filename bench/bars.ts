import type { Result } from "./rounds.js"
import { baseline } from "./subject.js"

/** What we aim for, and where this run got to, and whether it held. */
export interface Bar {
  readonly what: string
  readonly least?: number
  readonly most?: number
  /** Nothing when its case did not run, or measured no such thing. */
  readonly measured: number | undefined
}

export function met({ least, most, measured }: Bar): boolean | undefined {
  if (measured === undefined) return undefined
  return (least === undefined || measured >= least) && (most === undefined || measured <= most)
}

/** Every bar, measured by these results. */
export function barsOf(results: readonly Result[]): Bar[] {
  const figure = (id: string, subject: string, name: string): number | undefined =>
    results.find((result) => result.id === id)?.rows.find((row) => row.subject === subject)?.figures[name]
      ?.median
  const ratio = (id: string, subject: string, to: string, name = "rate"): number | undefined => {
    const [above, below] = [figure(id, subject, name), figure(id, to, name)]
    return above === undefined || below === undefined ? undefined : above / below
  }
  const over = (id: string, least: number, what: string, subject = "sluice", to = baseline): Bar => ({
    what: `${what}: decisions/s to ${to}`,
    least,
    measured: ratio(id, subject, to),
  })
  const few = [1, 8, 32].flatMap((level): Bar[] => {
    const id = `in-flight-${level}`
    const p99 = { what: `${level} in flight: p99 to ${baseline}`, most: 1 }
    return [over(id, 1, `${level} in flight`), { ...p99, measured: ratio(id, "sluice", baseline, "p99") }]
  })
  const others = ["fixedWindow", "slidingLog", "slidingWindow", "leakyBucket"].map((policy) =>
    over("policies", 1.5, `${policy}, 256 in flight`, `sluice ${policy}`),
  )
  const nodeCpu = ratio("in-flight-256", "sluice", baseline, "nodeCpu")
  const million = figure("memory-scale", "sluice, 1 M keys", "megabytes")
  const growth = [
    figure("memory-scale", "sluice, 1 M keys", "nanoseconds"),
    figure("memory-scale", "sluice, 1 k keys", "nanoseconds"),
  ]
  const turns = ["tokenBucket", "leakyBucket"].map((policy): Bar => {
    const what = `1,000 wait, 200 a second, ${policy}: calls to Redis per grant`
    return { what, most: 1.1, measured: figure("waiting-200", `sluice ${policy}`, "scriptsPerGrant") }
  })
  const shared = (name: string) => figure("lease-processes", "sluice, leased", name)

  return [
    over("in-flight-256", 3, "256 in flight"),
    over("in-flight-256", 1.5, "256 in flight", "sluice", "INCR (floor)"),
    { what: `256 in flight: Node CPU per decision to ${baseline}`, most: 0.25, measured: nodeCpu },
    over("in-flight-1024", 3.5, "1024 in flight"),
    ...few,
    over("cluster", 1, "Cluster of three masters, 256 in flight"),
    ...others,
    over("three-policies", 5, "three policies per decision"),
    over("hot-key-denied", 50, "denied hot key"),
    over("hot-key-denied", 4, "denied hot key", "sluice", `${baseline}, block cache`),
    { what: "denied hot key: calls to Redis per second after the first", most: 1, measured: deniedCalls() },
    over("hot-key-allowed", 50, "allowed hot key, leased", "sluice, leased"),
    { what: "four processes with leases: most admitted, to the bound", most: 1, measured: shared("ofBound") },
    { what: "four processes with leases: share of the limit used", least: 0.95, measured: shared("used") },
    ...turns,
    over("memory-warm", 1, "in memory, 10,000 keys"),
    over("memory-warm", 0.6, "in memory, 10,000 keys", "sluice", "Map (floor)"),
    over("memory-new", 3, "in memory, new keys"),
    { what: "in memory: megabytes of a million keys", most: 150, measured: million },
    { what: "in memory: cost at 1 M keys to that at 1 k", most: 3, measured: quotient(growth) },
  ]

  function deniedCalls(): number | undefined {
    const [perSecond, seconds] = [
      figure("denied-calls", "sluice", "calls"),
      figure("denied-calls", "sluice", "seconds"),
    ]
    // a span of n seconds may begin with a call and hold one more for each second
    return perSecond === undefined || seconds === undefined ? undefined : Math.max(0, perSecond - 1 / seconds)
  }
}

function quotient([above, below]: readonly (number | undefined)[]): number | undefined {
  return above === undefined || below === undefined ? undefined : above / below
}

export function barsText(bars: readonly Bar[]): string {
  const width = Math.max(...bars.map(({ what }) => what.length))
  const lines = bars.map((bar) => {
    const wanted = bar.least === undefined ? `at most ${bar.most}` : `at least ${bar.least}`
    const verdict = { true: "met", false: "MISSED", undefined: "not measured" }[`${met(bar)}`]
    const measured = bar.measured?.toFixed(2) ?? "–"
    return `  ${bar.what.padEnd(width)}  ${wanted.padEnd(13)}  ${measured.padStart(8)}  ${verdict}`
  })
  return ["What we aim for, and where this run got to", ...lines].join("\n")
}
