// Tries a limit without enforcing it, reads the report, then enforces it.

import { createLimiter, fixedWindow } from "sluice"
import { observeReport } from "sluice/telemetry"

const limiter = createLimiter({
  name: "api",
  policy: fixedWindow({ limit: 3, window: "1m" }),
  mode: "observe",
})
const observed = observeReport({ limiter: "api" })

const send = async (key: string, times: number) => {
  let passed = 0
  for (let i = 0; i < times; i += 1) if ((await limiter.tryAcquire(key)).allowed) passed += 1
  return passed
}
console.log(`observe: ${await send("ann", 10)} of 10 pass`)
console.log(`observe: ${await send("bob", 2)} of 2 pass`)

const { requests, policies } = observed.report()
for (const { policy, wouldDeny, keys } of policies) {
  console.log(`${policy}: ${wouldDeny} of ${requests} requests would have been denied`)
  for (const { key, count } of keys.keys) console.log(`  ${key}: ${count}`)
}

limiter.mode = "enforce"
console.log(`enforce: ${await send("ann", 10)} of 10 pass`)
