import { type LineParser, skipped } from "./log-line.js"
import { parseTime } from "./parse-time.js"

/** Reads `time,key[,cost]`, or the columns that a first line names. */
export function csvParser(time = "time"): LineParser {
  let columns: readonly string[] | undefined
  return (line) => {
    const cells = splitCsv(line)
    if (columns === undefined) {
      const isHeader = Number.isNaN(parseTime(cells[0] ?? "")) && cells.includes(time)
      columns = isHeader ? cells : [time, "key", "cost"]
      if (isHeader) return skipped
    }
    const names = columns
    const ms = parseTime(cells[names.indexOf(time)] ?? "")
    if (Number.isNaN(ms)) return undefined
    // The column for the cost may be missing.
    return { time: ms, field: (name) => cells[names.indexOf(name)] || (name === "cost" ? "1" : undefined) }
  }
}

/** The cells of a line. Quotes may enclose commas, and a doubled quote stands for one. */
function splitCsv(line: string): string[] {
  if (!line.includes('"')) return line.split(",").map((cell) => cell.trim())
  const cells = line.matchAll(/(?:^|,)\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))/g)
  return Array.from(
    cells,
    ([, inQuotes, plain]) => inQuotes?.replaceAll('""', '"') ?? (plain as string).trim(),
  )
}
