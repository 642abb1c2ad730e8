import { count, duration, type Paint, percent, printable, table } from "../cli/format.js"
import type { SimulationReport } from "./simulate.js"
import type { TimelineReport } from "./timeline.js"

/** A report for people. */
export function reportText(report: SimulationReport, paint: Paint): string {
  const { requests, denied, from, to, timeline, top, deniedBy } = report
  const lines: string[] = []
  if (from !== undefined && to !== undefined && timeline !== undefined) {
    const span = `${instant(from)} to ${instant(to)} (${duration(to - from)})`
    lines.push(
      `${paint("bold", "requests")}  ${count(requests)}, ${span}`,
      `${paint("bold", "allowed ")}  ${count(requests - denied)}`,
      `${paint("bold", "denied  ")}  ${paint(denied > 0 ? "red" : "green", `${count(denied)} (${percent(denied / requests)})`)}`,
      ...Object.entries(deniedBy).map(
        ([policy, number]) => `          ${printable(policy)}: ${count(number)}`,
      ),
      "",
      ...timelineText(timeline, paint),
    )
  }
  const [worst] = top
  if (worst !== undefined) {
    const rows = top.map(({ key, requests, denied, peakPerSecond }) => [
      printable(key, 60),
      count(denied),
      count(requests),
      percent(denied / requests),
      `${count(peakPerSecond)}/s`,
    ])
    lines.push("", ...table([["most denied", "denied", "requests", "share", "peak"], ...rows], [1, 2, 3, 4]))
    lines.push(
      "",
      `The worst key is ${printable(worst.key, 60)}, with up to ${count(worst.peakPerSecond)} requests in one second.`,
    )
  }
  return `${[...lines, ...notes(report)].join("\n")}\n`
}

/** Reasons to trust the numbers less. */
function notes(report: SimulationReport): string[] {
  const { unreadable, withoutKey, late, tooOld, isTopApproximate } = report
  const lines: string[] = []
  if (unreadable.count > 0) {
    lines.push(`${count(unreadable.count)} lines could not be read:`)
    for (const { line, text } of unreadable.samples)
      lines.push(`  line ${count(line)}: ${printable(text, 100)}`)
  }
  if (withoutKey > 0) lines.push(`${count(withoutKey)} lines have no key and were left out.`)
  if (late > 0)
    lines.push(`${count(late)} lines are up to a minute late. They count at the time of the line before.`)
  if (tooOld > 0)
    lines.push(`${count(tooOld)} lines are more than a minute late and were left out. Sort the log by time.`)
  if (isTopApproximate) lines.push("There are very many keys, so the counts of rare keys may be too low.")
  return lines.length > 0 ? ["", ...lines] : []
}

function timelineText({ from, width, requests, denied }: TimelineReport, paint: Paint): string[] {
  const most = Math.max(...requests)
  const end = from + width * requests.length
  return [
    `requests  ${spark(requests, most)}`,
    `denied    ${paint("red", spark(denied, most))}`,
    `          ${clock(from)} to ${clock(end)}, ${duration(width)} per column, at most ${count(most)} requests in one`,
  ]
}

const blocks = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

/** Bars on one line. Zero is a blank, and the least that is not zero is a visible bar. */
function spark(values: readonly number[], most: number): string {
  return values.map((value) => (value === 0 ? " " : blocks[Math.ceil((value / most) * 8) - 1])).join("")
}

function instant(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ")
}

function clock(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19)
}
