// Three processes that share one limit and wait their turn: in bursts, or evenly spaced.
import { createLimiter, fixedWindow, leakyBucket, memoryStore, type Policy } from "sluice"
import { manualClock } from "sluice/testing"
import { area, line, seconds, square, svg, text } from "./svg.js"

const [left, top, perSecond, size, rowHeight] = [150, 78, 46, 8, 17]
const last = 15
const processes = ["A", "B", "C"]
const callsEach = 10
/** Milliseconds for which the partner counts what it gets. */
const slot = 500

const cases: readonly { readonly code: string; readonly result: string; readonly policy: Policy }[] = [
  {
    code: 'fixedWindow({ limit: 12, window: "6s" })',
    result: "the partner gets 12 calls at once",
    policy: fixedWindow({ limit: 12, window: "6s" }),
  },
  {
    code: 'leakyBucket({ capacity: 30, leak: 12, every: "6s" })',
    result: "the partner gets one call every 500 ms",
    policy: leakyBucket({ capacity: 30, leak: 12, every: "6s" }),
  },
]

/** When each process sends its calls, in milliseconds. */
async function run(policy: Policy): Promise<number[][]> {
  const clock = manualClock()
  const start = clock()
  const store = memoryStore({ clock })
  const limiters = processes.map(() => createLimiter({ name: "partner", policy, store }))
  const sent: number[][] = processes.map(() => [])
  const calls = Array.from({ length: callsEach }).flatMap(() =>
    limiters.map((limiter, process) =>
      limiter.run("api", () => {
        sent[process]?.push(clock() - start)
      }),
    ),
  )
  for (let at = 0; at <= last * 1_000; at += 50) {
    clock.set(start + at)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(calls)
  return sent
}

export async function spacing(): Promise<string> {
  const body: string[] = []
  let y = top
  for (const { code, result, policy } of cases) {
    const sent = await run(policy)
    body.push(text(12, y, code, "head"), text(left + last * perSecond, y, result, "end"))
    y += 12
    for (const [index, moments] of sent.entries()) {
      body.push(text(12, y + 11, `process ${processes[index]}`, "muted small"))
      body.push(line(left, y + 13, left + last * perSecond, y + 13))
      // Calls of the same moment are drawn side by side.
      const seen = new Map<number, number>()
      for (const at of moments) {
        const before = seen.get(at) ?? 0
        seen.set(at, before + 1)
        body.push(square(left + (at / 1_000) * perSecond + before * (size + 1), y + 4, size, "passed"))
      }
      y += rowHeight
    }
    const all = sent.flat()
    const slots = Array.from(
      { length: (last * 1_000) / slot },
      (_, i) => all.filter((at) => at >= i * slot && at < (i + 1) * slot).length,
    )
    const tall = 48
    y += 8
    body.push(text(12, y + tall - 14, "calls the partner", "muted small"))
    body.push(text(12, y + tall, "gets per 500 ms", "muted small"))
    for (const [index, count] of slots.entries()) {
      if (count === 0) continue
      const barHeight = (count / 12) * tall
      const x = left + ((index * slot) / 1_000) * perSecond
      body.push(area(x, y + tall - barHeight, (slot / 1_000) * perSecond - 3, barHeight, "asked"))
      // Beside a high bar, above a low one.
      const isHigh = barHeight > 11
      const middle = x + ((slot / 1_000) * perSecond - 3) / 2
      const labelX = isHigh ? x + (slot / 1_000) * perSecond : middle
      const labelY = y + tall - barHeight + (isHigh ? 11 : -3)
      body.push(text(labelX, labelY, String(count), isHigh ? "small" : "small mid"))
    }
    body.push(line(left, y + tall, left + last * perSecond, y + tall))
    y += tall + 36
  }
  body.push(...seconds(y - 30, left, perSecond, last, 3))
  return svg({
    title: "Thirty calls from three processes under one limit of 12 in 6 s",
    subtitle: "All calls are made at 0 s with acquire. Each waits its turn; no process knows of the others.",
    width: left + last * perSecond + 30,
    height: y,
    body,
  })
}
