// Tables of the benchmark page, each made from results that are looked up by their id.
import type { Result, Row } from "./rounds.js"
import { baseline } from "./subject.js"
import { show } from "./table.js"

export type Find = (id: string) => Result | undefined
export type Block = (find: Find) => string

export const notMeasured = "*Not measured yet.*"

export function markdownTable(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`
  return [row(head), row(head.map((_, at) => (at === 0 ? "---" : "---:"))), ...lines.map(row)].join("\n")
}

export function formatted(row: Row | undefined, figure: string): string {
  const spread = row?.figures[figure]
  return spread === undefined ? "" : (show[figure]?.as(spread.median) ?? String(spread.median))
}

/** Throughput also says how far the rounds lie apart, and how it compares with the baseline. */
function cell(row: Row, figure: string, rows: readonly Row[]): string {
  const spread = row.figures[figure]
  const as = show[figure]?.as
  if (spread === undefined || as === undefined) return ""
  if (figure !== "rate") return as(spread.median)
  const range = spread.min === spread.max ? "" : ` (${as(spread.min)} – ${as(spread.max)})`
  return `${as(spread.median)}${range}${ratio(row, figure, rows)}`
}

function ratio(row: Row, figure: string, rows: readonly Row[]): string {
  const base = rows.find(({ subject }) => subject === baseline)?.figures[figure]?.median
  const own = row.figures[figure]?.median
  return base === undefined || own === undefined || row.subject === baseline
    ? ""
    : `, ${(own / base).toFixed(2)} ×`
}

/** One result: a line per subject, a column per figure. */
export function figures(id: string, names: readonly string[]): Block {
  return (find) => {
    const { rows = [] } = find(id) ?? {}
    if (rows.length === 0) return notMeasured
    const shown = names.filter((name) => rows.some((row) => name in row.figures))
    const lines = rows.map((row) => [row.subject, ...shown.map((name) => cell(row, name, rows))])
    return markdownTable(["", ...shown.map((name) => show[name]?.head ?? name)], lines)
  }
}

/** Several results with their titles, one table each. */
export function several(ids: readonly string[], names: readonly string[]): Block {
  return (find) => {
    const tables = ids.flatMap((id) => {
      const result = find(id)
      return result === undefined ? [] : [`${result.title}:\n\n${figures(id, names)(find)}`]
    })
    return tables.length === 0 ? notMeasured : tables.join("\n\n")
  }
}

/** One figure of several results: a line per subject, a column per result. Errors, if any, stand beside it. */
export function pivot(figure: string, columns: Readonly<Record<string, string>>): Block {
  return (find) => {
    const results = Object.values(columns).map(find)
    const subjects = [
      ...new Set(results.flatMap((result) => result?.rows.map(({ subject }) => subject) ?? [])),
    ]
    if (subjects.length === 0) return notMeasured
    const lines = subjects.map((subject) => {
      const own = results.map((result) => result?.rows.find((row) => row.subject === subject))
      const cells = own.map((row, at) =>
        row === undefined ? "" : `${formatted(row, figure)}${ratio(row, figure, results[at]?.rows ?? [])}`,
      )
      const errors = own.reduce((sum, row) => sum + (row?.figures["errors"]?.max ?? 0), 0)
      return [subject, ...cells, String(errors)]
    })
    return markdownTable(["", ...Object.keys(columns), "errors"], lines)
  }
}
