import { setTimeout as sleep } from "node:timers/promises"
import type { Client } from "sluice/client"
import type { TopKeysReport } from "sluice/telemetry"
import { type Command, integerOption, optionOf, type Terminal, UsageError, wantsJson } from "./command.js"
import { json, painter, printable } from "./format.js"
import { checkLimiter, clientOf, serverOptions } from "./server-options.js"
import { type TopRows, topRows, topText } from "./top-table.js"

/** The server is asked for more keys than are shown, so that a key that rises has an earlier count. */
const ASKED = 5
const MOST_ASKED = 1_000

export const topCommand: Command = {
  summary: "show the busiest and the most denied keys, live",
  usage: "sluice top [<limiter>] [--count 20] [--once]",
  options: {
    "count=": "how many keys to show in each list, 20 by default",
    "interval=": "milliseconds between two samples, 1000 by default",
    once: "print one table and end, as without a terminal",
    ...serverOptions,
  },
  examples: ["sluice top", "sluice top api --count 5 --once", "sluice top --json"],
  async run(args, terminal) {
    const [limiter, more] = args.words
    if (more !== undefined) throw new UsageError(`top takes at most one limiter, got also ${printable(more)}`)
    const most = integerOption(args, "count", 20)
    const asked = Math.min(most * ASKED, MOST_ASKED)
    const view = { limiter, most, asked, interval: integerOption(args, "interval", 1_000, 10) }
    const client = clientOf(args, terminal)
    const isLive = terminal.isInteractive && !args.options.has("once") && !wantsJson(args)
    if (isLive) {
      await watch(client, view, terminal, optionOf(args, "server"))
      return 0
    }
    const first = await firstSample(client, view)
    await pause(view.interval, terminal.signal)
    const rows = rowsBetween(first, await sample(client, asked), view)
    terminal.out(wantsJson(args) ? json(rows) : `${topText(rows, painter(terminal)).join("\n")}\n`)
    return 0
  },
}

interface View {
  readonly limiter: string | undefined
  readonly most: number
  readonly asked: number
  readonly interval: number
}

interface Sample {
  readonly at: number
  readonly reports: readonly TopKeysReport[]
}

async function sample(client: Client, asked: number): Promise<Sample> {
  const reports = await client.top(asked)
  return { at: performance.now(), reports }
}

/** Throws if neither this server nor another one on its store has the limiter. */
async function firstSample(client: Client, { limiter, asked }: View): Promise<Sample> {
  const first = await sample(client, asked)
  const isCounted = first.reports.some((report) => report.limiter === limiter)
  if (limiter !== undefined && !isCounted) await checkLimiter(client, limiter)
  return first
}

function rowsBetween(before: Sample | undefined, now: Sample, view: View): TopRows {
  const seconds = before === undefined ? 1 : (now.at - before.at) / 1_000
  return topRows(now.reports, before?.reports, seconds, view)
}

/** Switches to a second screen without a cursor and without line wrap, and back. */
const enter = "\u001b[?1049h\u001b[?25l\u001b[?7l"
const leave = "\u001b[?7h\u001b[?25h\u001b[?1049l"

/** Draws a table again and again until Ctrl-C. The terminal is as before afterwards. */
async function watch(
  client: Client,
  view: View,
  terminal: Terminal,
  server: string | undefined,
): Promise<void> {
  const paint = painter(terminal)
  // The first failure ends the command. A later one is shown, and the next sample may succeed.
  let last = await firstSample(client, view)
  let rows = rowsBetween(undefined, last, view)
  let problem = ""
  terminal.out(enter)
  try {
    while (!terminal.signal.aborted) {
      const title = `sluice top${server === undefined ? "" : ` of ${printable(server)}`}, Ctrl-C ends it`
      draw([paint("dim", title), paint("red", problem), ...topText(fitting(rows), paint)], terminal)
      await pause(view.interval, terminal.signal)
      if (terminal.signal.aborted) break
      try {
        const next = await sample(client, view.asked)
        rows = rowsBetween(last, next, view)
        last = next
        problem = ""
      } catch (error) {
        problem = printable((error as Error).message)
      }
    }
  } finally {
    terminal.out(leave)
  }
}

/** Lines of the screen that are no keys: the title, a problem, the heads of both lists, and the line between them. */
const OTHER_LINES = 6

/** As many keys of both lists as the screen has room for. */
function fitting({ busiest, denied }: TopRows): TopRows {
  const room = Math.max(1, Math.floor(((process.stdout.rows || 50) - OTHER_LINES) / 2))
  return { busiest: busiest.slice(0, room), denied: denied.slice(0, room) }
}

/** Draws over the last frame, so that nothing flickers. */
function draw(lines: readonly string[], terminal: Terminal): void {
  terminal.out(`\u001b[H${lines.map((line) => `${line}\u001b[K\n`).join("")}\u001b[J`)
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}
