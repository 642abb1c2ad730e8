import { slidingLog, tokenBucket } from "sluice"
import { type Case, compare } from "../case.js"
import { drawn, uniform } from "../keys.js"
import { plenty } from "../subject.js"
import { flexible, flexibleBudgets } from "../subjects/rate-limiter-flexible.js"
import { sluice } from "../subjects/sluice.js"

/** Costs as tokens of a prompt are: anything up to here. */
const dearest = 2_000

export const costs: Case = {
  id: "costs",
  section: "policies",
  seconds: 30,
  title: "requests that cost differently",
  async run(bench) {
    const { redis } = bench
    const load = { keys: uniform(10_000), inFlight: 256 }
    const tokens = tokenBucket({ capacity: plenty, refill: 10_000, every: "1s" })
    const requests = tokenBucket({ capacity: plenty, refill: 10, every: "1s" })
    const next = drawn(dearest)
    const costOfNext = () => ({ requests: 1, tokens: next() })
    const log = slidingLog({ limit: 10_000, window: "10s" })
    const two = await compare(
      bench,
      [
        sluice(redis, { policy: { requests, tokens }, costOfNext }),
        sluice(redis, { name: "sluice, with a log", policy: { requests: log, tokens }, costOfNext }),
        flexibleBudgets(redis, drawn(dearest)),
      ],
      load,
    )
    const budgets = {
      id: "budgets",
      title: "A request and 1 to 2,000 tokens, 256 in flight over 10,000 keys",
      rows: two,
    }
    if (bench.pace.quick) return [budgets]
    const one = await compare(
      bench,
      [
        sluice(redis, { policy: tokens, costOfNext: drawn(dearest) }),
        flexible(redis, { costOfNext: drawn(dearest) }),
      ],
      load,
    )
    return [
      budgets,
      { id: "costs", title: "Costs from 1 to 2,000, 256 in flight over 10,000 keys", rows: one },
    ]
  },
}
