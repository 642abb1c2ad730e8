import type { Result, Row } from "./rounds.js"
import type { Spread } from "./statistics.js"
import { baseline } from "./subject.js"

interface Column {
  readonly head: string
  cell(row: Row, rows: readonly Row[]): string
}

const number = (digits: number) => (value: number) =>
  value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })
const percent = (value: number) => `${number(1)(value * 100)} %`

/** The first figure of these that a case has gives the ratio to the baseline; more is better in the first only. */
const compared = ["rate", "p99"]
const hold = { as: number(0), spread: false }

/** The figures in the order of their columns. */
export const show: Record<string, { head: string; as: (value: number) => string; spread?: boolean }> = {
  rate: { head: "decisions/s", as: number(0), spread: true },
  grantRate: { head: "grants/s", as: number(0), spread: true },
  nanoseconds: { head: "ns each", as: number(0) },
  p50: { head: "p50 ms", as: number(3) },
  p99: { head: "p99 ms", as: number(3), spread: true },
  nodeCpu: { head: "Node µs", as: number(2) },
  redisCpu: { head: "Redis µs", as: number(2) },
  perCall: { head: "per call", as: number(1) },
  meanHold: { head: "mean call µs", ...hold },
  p99Hold: { head: "p99 call µs", ...hold },
  longestHold: { head: "longest call µs", ...hold },
  requests: { head: "requests/s", as: number(0), spread: true },
  share: { head: "of the bare framework", as: percent },
  ofStub: { head: "of the stub", as: percent },
  serverCpu: { head: "server µs", as: number(1), spread: true },
  addedCpu: { head: "added µs", as: number(1) },
  httpP50: { head: "p50 ms", as: number(0) },
  httpP99: { head: "p99 ms", as: number(0) },
  calls: { head: "scripts/s", as: number(1) },
  allowed: { head: "allowed", as: percent },
  bytes: { head: "bytes per key", as: number(0) },
  megabytes: { head: "MB", as: number(1) },
  usage: { head: "MEMORY USAGE", as: number(0) },
  bytesAfter1: { head: "used after 1", as: number(0) },
  bytesAfter10: { head: "used after 10", as: number(0) },
  admitted: { head: "admitted", as: number(0) },
  ofLimit: { head: "of the limit", as: percent },
  ofBound: { head: "of the bound", as: percent },
  used: { head: "limit used", as: percent },
  rateUsed: { head: "rate used", as: percent, spread: true },
  longestGap: { head: "longest gap/even", as: number(1), spread: true },
  scriptsPerGrant: { head: "scripts/grant", as: number(3) },
  commandsPerGrant: { head: "commands/grant", as: number(2) },
  seconds: { head: "seconds", as: number(0) },
  errors: { head: "errors", as: number(0) },
}

/** One case as text, a line per subject. */
export function tableOf({ title, rows, notes = [] }: Result): string {
  const columns: Column[] = [{ head: "", cell: (row) => row.subject }]
  for (const [figure, { head, as, spread }] of Object.entries(show)) {
    if (!rows.some((row) => figure in row.figures)) continue
    columns.push({ head, cell: (row) => cellOf(row.figures[figure], as) })
    if (spread) columns.push({ head: "min – max", cell: (row) => rangeOf(row.figures[figure], as) })
    if (compared.find((name) => rows.some((row) => name in row.figures)) === figure) {
      const ratio = (row: Row, all: readonly Row[]) => ratioOf(row, all, figure)
      if (rows.some((row) => ratio(row, rows) !== "")) columns.push({ head: "ratio", cell: ratio })
    }
  }
  const lines = [
    columns.map(({ head }) => head),
    ...rows.map((row) => columns.map(({ cell }) => cell(row, rows))),
  ]
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => (line[at] as string).length)))
  const text = lines.map((line) =>
    line
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("  "),
  )
  return [title, ...(rows.length === 0 ? [] : text), ...notes]
    .map((line) => `  ${line}`.trimEnd())
    .join("\n")
    .trim()
}

function cellOf(spread: Spread | undefined, as: (value: number) => string): string {
  return spread === undefined ? "" : as(spread.median)
}

function rangeOf(spread: Spread | undefined, as: (value: number) => string): string {
  return spread === undefined ? "" : `${as(spread.min)} – ${as(spread.max)}`
}

function ratioOf(row: Row, rows: readonly Row[], figure: string): string {
  // "sluice, 1 k keys" is compared with "rate-limiter-flexible, 1 k keys"
  const [, kind = ""] = /(, \S+ \S keys)$/.exec(row.subject) ?? []
  const base = rows.find(({ subject }) => subject === baseline + kind)?.figures[figure]
  const own = row.figures[figure]
  return base === undefined || own === undefined ? "" : `${number(2)(own.median / base.median)} ×`
}
