import type { Frequent, TopKeysReport } from "sluice/telemetry"
import { count, type Paint, printable, rate, table } from "./format.js"

export interface TopRow {
  readonly limiter: string
  readonly key: string
  readonly count: number
  /** Undefined if the key was not among the top keys of the last sample. */
  readonly perSecond: number | undefined
}

export interface TopRows {
  readonly busiest: readonly TopRow[]
  readonly denied: readonly TopRow[]
}

/** Counts by list, limiter and key. */
type Counts = ReadonlyMap<string, number>

/** Turns two samples of ever growing counts into rates. */
export function topRows(
  now: readonly TopKeysReport[],
  before: readonly TopKeysReport[] | undefined,
  seconds: number,
  { limiter, most, asked }: { limiter: string | undefined; most: number; asked: number },
): TopRows {
  const rowsOf = (list: "busiest" | "denied") => {
    const earlier = before === undefined ? undefined : countsOf(before, list)
    const rows = entriesOf(now, list)
      .filter((each) => limiter === undefined || each.limiter === limiter)
      .map(({ limiter, key, count }): TopRow => {
        // A list that was not full had all keys, so a key that it lacks had no count.
        const wasFull = before?.some((each) => each.limiter === limiter && each[list].keys.length >= asked)
        const last = earlier?.get(idOf(limiter, key)) ?? (wasFull === false ? 0 : undefined)
        const perSecond = last === undefined ? undefined : Math.max(0, count - last) / seconds
        return { limiter, key, count, perSecond }
      })
    return rows.sort((a, b) => (b.perSecond ?? 0) - (a.perSecond ?? 0) || b.count - a.count).slice(0, most)
  }
  return { busiest: rowsOf("busiest"), denied: rowsOf("denied") }
}

function entriesOf(reports: readonly TopKeysReport[], list: "busiest" | "denied") {
  return reports.flatMap(({ limiter, [list]: { keys } }) =>
    keys.map((each: Frequent) => ({ limiter, ...each })),
  )
}

function countsOf(reports: readonly TopKeysReport[], list: "busiest" | "denied"): Counts {
  return new Map(entriesOf(reports, list).map(({ limiter, key, count }) => [idOf(limiter, key), count]))
}

function idOf(limiter: string, key: string): string {
  return JSON.stringify([limiter, key])
}

/** Both lists as text. */
export function topText({ busiest, denied }: TopRows, paint: Paint): string[] {
  return [
    ...section("busiest keys", "requests", busiest, paint),
    "",
    ...section("most denied keys", "denials", denied, paint),
  ]
}

function section(title: string, noun: string, rows: readonly TopRow[], paint: Paint): string[] {
  if (rows.length === 0) return [`${paint("bold", title)}: none`]
  const cells = rows.map(({ limiter, key, count: sum, perSecond }) => [
    printable(key, 60),
    printable(limiter, 40),
    perSecond === undefined ? "–" : rate(perSecond),
    count(sum),
  ])
  const [head = "", ...body] = table([[title, "limiter", `${noun}/s`, noun], ...cells], [2, 3])
  return [paint("bold", head), ...body]
}
