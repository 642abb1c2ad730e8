// The same traffic through every policy: the demo of examples/policies.ts as a picture.
import { createLimiter, memoryStore } from "sluice"
import { manualClock } from "sluice/testing"
import { type Lane, lanes, limit, mostIn, tick, traffic, window } from "../../examples/demo/traffic.js"
import { line, seconds, square, svg, text } from "./svg.js"

const [left, cell, column, height, top] = [128, 7, 14, 45, 82]

/** What the picture says under the name of a row, or instead of it. */
const notes: Readonly<Record<string, string>> = {
  "  by the clock": 'align: "clock"',
  "  in steps": 'mode: "interval"',
  leakyBucket: "with tryAcquire",
}

/** How many requests of each tick a policy lets pass, and when. */
async function run({ policy }: Lane) {
  // At the start of a window of the clock, so that the picture is the same each time.
  const clock = manualClock(1_780_000_000_000 + tick / 4)
  const start = clock()
  const limiter = createLimiter({ policy, store: memoryStore({ clock }) })
  const passed: number[] = []
  const moments: number[] = []
  for (const [index, requests] of traffic.entries()) {
    clock.set(start + index * tick)
    let count = 0
    for (let i = 0; i < requests; i += 1) {
      if (!(await limiter.tryAcquire("demo")).allowed) continue
      count += 1
      moments.push(clock())
    }
    passed.push(count)
  }
  return { passed, total: moments.length, most: mostIn(window, moments) }
}

/** The requests of a row, stacked: those that pass at the bottom. */
function row(y: number, passed: readonly number[], kind: string): string[] {
  const base = y + 4 * (cell + 1)
  return traffic.flatMap((requests, index) =>
    Array.from({ length: requests }, (_, i) => {
      const isIn = i < (passed[index] as number)
      const inset = isIn ? 0 : 0.7
      const x = left + index * column + inset
      return square(x, base - (i + 1) * (cell + 1) + inset, cell - 2 * inset, isIn ? kind : "denied")
    }),
  )
}

export async function policies(): Promise<string> {
  const end = left + traffic.length * column
  const asked = traffic.reduce((sum, requests) => sum + requests, 0)
  const body = [
    text(end + 66, top - 10, "passed", "muted small end"),
    text(end + 146, top - 10, "most in 2 s", "muted small end"),
    text(12, top + 28, "requests", "head"),
    ...row(top, traffic, "asked"),
    text(end + 66, top + 28, String(asked), "end"),
  ]
  let y = top + height + 6
  for (const lane of lanes) {
    const { passed, total, most } = await run(lane)
    const isVariant = lane.name.startsWith(" ")
    const note = notes[lane.name]
    body.push(
      line(12, y - 7, end + 150, y - 7),
      ...(isVariant ? [] : [text(12, y + 18, lane.name, "head")]),
      ...(note === undefined ? [] : [text(12, y + (isVariant ? 18 : 33), note, "muted")]),
      ...row(y, passed, "passed"),
      text(end + 66, y + 28, String(total), "end"),
      text(end + 146, y + 28, String(most), most > limit ? "end head" : "end"),
    )
    y += height
  }
  const perSecond = (column * 1_000) / tick
  const last = Math.floor((traffic.length * tick) / 1_000)
  body.push(...seconds(y - 2, left, perSecond, last, 2))
  const keys = y + 40
  body.push(
    square(left, keys - 9, cell + 2, "passed"),
    text(left + 15, keys, "passed", "small"),
    square(left + 75, keys - 9, cell + 2, "denied"),
    text(left + 90, keys, "denied", "small"),
    text(left + 150, keys, `Each policy allows ${limit} requests in 2 s, in its own way.`, "muted small"),
  )
  return svg({
    title: "The same traffic through every policy",
    subtitle: "A burst on both sides of a window's end, a pause, then steadily twice the limit.",
    width: end + 164,
    height: keys + 16,
    body,
  })
}
