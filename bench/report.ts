import { mkdirSync, writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { type Bar, met } from "./bars.js"
import { type Chart, svgOf } from "./chart.js"
import type { Result } from "./rounds.js"

const charts: Record<
  string,
  { title: string; unit: string; figure: string; groups: Record<string, string> }
> = {
  throughput: {
    title: "Decisions over 10,000 keys, by how many are in flight",
    unit: "decisions per second on one Redis, more is better",
    figure: "rate",
    groups: Object.fromEntries(
      [1, 8, 32, 256, 1024].map((level) => [`in-flight-${level}`, `${level} in flight`]),
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
  "memory-per-key": {
    title: "In memory, bytes per key of 16 bytes",
    unit: "bytes, less is better",
    figure: "bytes",
    groups: { "memory-scale": "" },
  },
}

/** Writes what the documentation shows: the numbers, and a chart for each group of cases that ran. */
export function write(results: readonly Result[], bars: readonly Bar[], environment: object): string[] {
  const written: string[] = []
  const save = (path: string, content: string) => {
    const url = new URL(`../${path}`, import.meta.url)
    mkdirSync(new URL(".", url), { recursive: true })
    writeFileSync(url, content)
    written.push(path)
  }
  const judged = bars.map((bar) => ({ ...bar, met: met(bar) }))
  const rounded = (_: string, value: unknown) =>
    typeof value === "number" ? Number(value.toPrecision(5)) : value
  save("bench/results.json", `${JSON.stringify({ environment, results, bars: judged }, rounded, 2)}\n`)
  for (const [name, { title, unit, figure, groups }] of Object.entries(charts)) {
    const chart: Chart = {
      title,
      unit,
      groups: Object.entries(groups).flatMap(([id, label]) => group(id, label)),
    }
    if (chart.groups.length > 0) save(`docs/benchmarks/${name}.svg`, svgOf(chart))

    function group(id: string, label: string): Chart["groups"] {
      const rows = results.find((result) => result.id === id)?.rows ?? []
      const found = rows.map((row) => ({ name: row.subject, value: row.figures[figure]?.median }))
      const drawn = found.filter((bar): bar is { name: string; value: number } => bar.value !== undefined)
      return drawn.length === 0 ? [] : [{ label, bars: drawn }]
    }
  }
  return written
}

/** What the numbers depend on. */
export function environmentOf(redis: string, quick: boolean) {
  const processors = cpus()
  return {
    date: new Date().toISOString().slice(0, 10),
    mode: quick ? "quick" : "full",
    node: process.version,
    redis,
    processor: `${processors.length} × ${processors[0]?.model.trim() ?? "unknown"}`,
  }
}
