// Raises the limit of one customer, blocks another, and reads the history.

import { createLimiter, fixedWindow, memoryStore } from "sluice"
import { createRules } from "sluice/rules"

const store = memoryStore()
const rules = createRules(store)
const policy = fixedWindow({ limit: 3, window: "1m" })
const limiter = createLimiter({ name: "api", policy, store, rules })

const passes = async (key: string) => {
  let passed = 0
  for (let i = 0; i < 10; i += 1) if ((await limiter.tryAcquire(key)).allowed) passed += 1
  return passed
}

console.log(`acme: ${await passes("acme")} of 10 pass`)
const raised = fixedWindow({ limit: 8, window: "1m" })
await rules.set({
  limiter: "api",
  key: "acme",
  policy: raised,
  until: "7d",
  reason: "launch week",
  by: "ann",
})
console.log(`acme, raised to 8: ${await passes("acme")} more pass`)

await rules.block({ limiter: "api", pattern: "scraper:*", reason: "abuse report", by: "bob" })
const { source, retryAfter } = await limiter.tryAcquire("scraper:1")
console.log(`scraper:1 is denied by a ${source}, for ${retryAfter} ms`)

for (const { policy, words } of (await limiter.inspect("acme")).policies) {
  console.log(`${policy}: ${words.replace(/\d+ ms/g, "… ms")}`)
}
for (const { action, key, pattern, by, reason } of await rules.history()) {
  console.log(`${by}: ${action} ${key ?? pattern}, ${reason}`)
}
rules.close()
