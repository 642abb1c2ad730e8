// What operations cost a decision in memory: nobody listens, metrics, and 100,000 rules. Rounds are interleaved.
// Usage: tsx --tsconfig tsconfig.json bench/operations.ts [rounds]

import { Registry } from "prom-client"
import { createLimiter, fixedWindow, type Limiter, memoryStore } from "sluice"
import { createRules } from "sluice/rules"
import { listen, prometheus } from "sluice/telemetry"

const ROUNDS = Number(process.argv[2] ?? 7)
const DECISIONS = 100_000
const RULES = 100_000
const policy = fixedWindow({ limit: 1_000_000_000, window: "1h" })
const keys = Array.from({ length: 10_000 }, (_, i) => `user:${i}`)

const store = memoryStore()
const rules = createRules(store)
await rules.ready
const batch: Promise<void>[] = []
for (let i = 0; i < RULES; i += 1) batch.push(rules.block({ limiter: "ruled", key: `other:${i}` }))
await Promise.all(batch)

const plain = createLimiter({ name: "plain", policy })
const ruled = createLimiter({ name: "ruled", policy, store, rules })

async function nanoseconds(limiter: Limiter<typeof policy>): Promise<number> {
  const start = process.hrtime.bigint()
  for (let i = 0; i < DECISIONS; i += 1) await limiter.tryAcquire(keys[i % keys.length] as string)
  return Number(process.hrtime.bigint() - start) / DECISIONS
}

const cases: Record<string, () => Promise<number>> = {
  "nobody listens": () => nanoseconds(plain),
  "a listener": async () => {
    const stop = listen(() => {})
    return nanoseconds(plain).finally(stop)
  },
  "Prometheus metrics": async () => {
    const stop = prometheus(new Registry())
    return nanoseconds(plain).finally(stop)
  },
  "100,000 rules": () => nanoseconds(ruled),
}

const found: Record<string, number[]> = {}
for (let round = 0; round <= ROUNDS; round += 1) {
  for (const [name, measure] of Object.entries(cases)) {
    const ns = await measure()
    // the first round warms up
    if (round > 0) found[name] = [...(found[name] ?? []), ns]
  }
}
const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] as number
for (const [name, values] of Object.entries(found)) {
  const spread = `${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)}`
  console.log(`${name.padEnd(20)} ${median(values).toFixed(0)} ns a decision (${spread})`)
}
rules.close()
