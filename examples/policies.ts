// The same bursts of requests through every policy, drawn as they happen; SLUICE_DEMO_SECONDS ends it early.
import { setTimeout as sleep } from "node:timers/promises"
import { createLimiter, type Limiter } from "sluice"
import { limit, mostIn, lanes as policies, tick, traffic, window } from "./demo/traffic.js"

const { NO_COLOR, SLUICE_DEMO_SECONDS = "11" } = process.env

const ticks = Math.min(traffic.length, Math.ceil((Number(SLUICE_DEMO_SECONDS) * 1_000) / tick))

interface Lane {
  readonly name: string
  readonly shows: string
  readonly limiter: Limiter
  readonly marks: string[]
  /** When each request passed. */
  readonly passedAt: number[]
  asked: number
  remaining: number
}

const lanes = policies.map(({ name, shows, policy }): Lane => {
  const limiter = createLimiter({ policy })
  return { name, shows, limiter, marks: [], passedAt: [], asked: 0, remaining: limit }
})

async function send(requests: number, to: Lane): Promise<void> {
  const before = to.passedAt.length
  for (let i = 0; i < requests; i += 1) {
    if ((await to.limiter.tryAcquire("demo")).allowed) to.passedAt.push(Date.now())
  }
  to.marks.push(mark(requests, to.passedAt.length - before))
  to.asked += requests
  to.remaining = (await to.limiter.peek("demo")).remaining
}

const { stdout } = process
const coloured = stdout.isTTY === true && !NO_COLOR
const live = stdout.isTTY === true && stdout.columns >= 80
const colour = (code: number) => (text: string) => (coloured ? `\x1b[${code}m${text}\x1b[0m` : text)
const [bold, dim, red, green, yellow] = [colour(1), colour(2), colour(31), colour(32), colour(33)]

function mark(asked: number, passed: number): string {
  if (asked === 0) return dim("·")
  if (passed === 0) return red("○")
  return passed === asked ? green("●") : yellow("◐")
}

function row(name: string, receipt: readonly string[], rest: string): string {
  return ` ${name.padEnd(15)}${receipt.join("")}${" ".repeat(traffic.length - receipt.length)}  ${rest}`
}

function picture(done: number): string[] {
  const requests = traffic.slice(0, done).map((n) => (n === 0 ? dim("·") : String(n)))
  const axis = traffic.map((_, i) => (i % 15 === 0 ? `${Math.round((i * tick) / 1_000)} s`.padEnd(15) : ""))
  return [
    bold(" Eight requests in two seconds, seven ways"),
    ` ${green("●")} passed  ${yellow("◐")} some passed  ${red("○")} refused  ${dim("■ room left")}`,
    "",
    row("requests", requests, dim("room      passed")),
    ...lanes.map(({ name, marks, remaining, passedAt, asked }) => {
      const room = "■".repeat(remaining) + dim("□".repeat(limit - remaining))
      return row(name, marks, `${room}  ${String(passedAt.length).padStart(2)} of ${asked}`)
    }),
    dim(` ${" ".repeat(15)}${axis.join("").trimEnd()}`),
  ]
}

function summary(): string[] {
  const head = ` ${"".padEnd(15)}${"passed".padStart(6)}${"refused".padStart(9)}${"most in 2 s".padStart(13)}`
  return [
    "",
    dim(head),
    ...lanes.map(({ name, shows, passedAt, asked }) => {
      const numbers = [passedAt.length, asked - passedAt.length, mostIn(window, passedAt)]
      const [passed, refused, most] = numbers.map(String) as [string, string, string]
      return ` ${name.padEnd(15)}${passed.padStart(6)}${refused.padStart(9)}${most.padStart(13)}  ${dim(shows)}`
    }),
    "",
    " To begin with: examples/quick-start.ts. On Redis: examples/redis.ts.",
  ]
}

// begin at an edge of the clock's windows, so that every run draws the same
const startsAt = Math.ceil(Date.now() / window) * window + tick / 4
if (live) console.log(`\n${picture(0).join("\n")}`)
else console.log(`${Math.round((ticks * tick) / 1_000)} s of requests through seven policies ...\n`)

for (const [index, requests] of traffic.slice(0, ticks).entries()) {
  await sleep(Math.max(0, startsAt + index * tick - Date.now()))
  for (const each of lanes) await send(requests, each)
  if (live) {
    const lines = picture(index + 1)
    stdout.write(`\x1b[${lines.length}F${lines.map((line) => `${line}\x1b[K\n`).join("")}`)
  }
}

if (!live) console.log(picture(ticks).join("\n"))
console.log(summary().join("\n"))
