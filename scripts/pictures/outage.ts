// An outage of the store under each `then`, as callers see it.
import { createLimiter, memoryStore, type OutagePolicy, SluiceError, type Store, tokenBucket } from "sluice"
import { manualClock } from "sluice/testing"
import { area, cross, line, seconds, square, svg, text } from "./svg.js"

const [left, top, height, perSecond, size] = [160, 92, 66, 56, 9]
/** Seconds. */
const [last, downFrom, downUntil] = [12, 3, 7]
/** Milliseconds between two requests. */
const pause = 250

type Outcome = "passed" | "denied" | "error" | "degraded" | "degraded-denied"

const lanes: readonly { readonly name: string; readonly then: OutagePolicy }[] = [
  { name: 'then: "throw"', then: "throw" },
  { name: 'then: "closed"', then: "closed" },
  { name: 'then: "open"', then: "open" },
  { name: "then: { local: 1/4 }", then: { local: 1 / 4 } },
]

/** A remote store that refuses connections during the outage, and notes when it was called. */
function flaky(store: Store, isDown: () => boolean, called: () => void): Store {
  return {
    ...store,
    remote: true,
    async decide(request) {
      called()
      if (isDown()) throw new SluiceError("STORE_REFUSED", "connection refused")
      return store.decide(request)
    },
  }
}

async function run(then: OutagePolicy) {
  const clock = manualClock()
  const start = clock()
  const elapsed = () => clock() - start
  const isDown = () => elapsed() >= downFrom * 1_000 && elapsed() < downUntil * 1_000
  const outcomes: { readonly at: number; readonly outcome: Outcome }[] = []
  const calls: number[] = []
  await onTime(clock, async () => {
    const limiter = createLimiter({
      policy: tokenBucket({ capacity: 4, refill: 2, every: "1s" }),
      store: flaky(memoryStore({ clock }), isDown, () => calls.push(elapsed())),
      outage: { then },
    })
    for (let at = 0; at < last * 1_000; at += pause) {
      clock.set(start + at)
      const outcome = await limiter.tryAcquire("client").then(
        ({ allowed, degraded }): Outcome => {
          if (degraded) return allowed ? "degraded" : "degraded-denied"
          return allowed ? "passed" : "denied"
        },
        (): Outcome => "error",
      )
      outcomes.push({ at, outcome })
    }
    await limiter.close()
  })
  return { outcomes, calls }
}

/** Has the circuit breaker and the local share go by a manual clock, without chance. */
async function onTime(clock: () => number, work: () => Promise<void>): Promise<void> {
  const { now } = performance
  const [dateNow, random] = [Date.now, Math.random]
  performance.now = clock
  Date.now = clock
  Math.random = () => 0
  try {
    await work()
  } finally {
    performance.now = now
    Date.now = dateNow
    Math.random = random
  }
}

function mark(x: number, y: number, outcome: Outcome): string {
  if (outcome === "error") return cross(x + 1, y + 1, size - 2)
  if (outcome === "denied" || outcome === "degraded-denied")
    return square(x + 0.7, y + 0.7, size - 1.4, "denied")
  return square(x, y, size, outcome)
}

export async function outage(): Promise<string> {
  const body: string[] = [
    area(
      left + downFrom * perSecond,
      top - 22,
      (downUntil - downFrom) * perSecond,
      lanes.length * height + 6,
      "down",
    ),
    text(
      left + ((downFrom + downUntil) / 2) * perSecond,
      top - 8,
      "the store refuses connections",
      "mid small",
    ),
  ]
  let y = top
  for (const { name, then } of lanes) {
    const { outcomes, calls } = await run(then)
    body.push(text(12, y + 24, name, "head"), text(12, y + 42, "calls to the store", "muted small"))
    for (const { at, outcome } of outcomes) body.push(mark(left + (at / 1_000) * perSecond, y + 14, outcome))
    body.push(line(left, y + 44, left + last * perSecond, y + 44))
    for (const at of calls) {
      const x = left + (at / 1_000) * perSecond + size / 2
      body.push(line(x, y + 35, x, y + 43, "probe"))
    }
    y += height
  }
  body.push(...seconds(y, left, perSecond, last))
  const keys = y + 40
  const legend: [Outcome, string, number][] = [
    ["passed", "passed", 70],
    ["degraded", "passed without the store", 170],
    ["denied", "denied", 70],
    ["error", "rejected with STORE_REFUSED", 0],
  ]
  let x = left
  for (const [outcome, label, width] of legend) {
    body.push(mark(x, keys - 9, outcome), text(x + 15, keys, label, "small"))
    x += width
  }
  return svg({
    title: "What callers get while the store is down",
    subtitle:
      "Four requests a second against a limit of two a second. The circuit breaker probes less and less often.",
    width: left + last * perSecond + 30,
    height: keys + 16,
    body,
  })
}
