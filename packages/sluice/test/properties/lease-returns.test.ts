import { type Answer, memoryStore, scopeOf, tokenBucket } from "sluice"
import { afterEach, expect, test, vi } from "vitest"
import { boundOf, checkBound } from "../support/bounds.js"
import { leaseholders } from "../support/leaseholders.js"
import { world } from "../support/world.js"

afterEach(() => {
  vi.unstubAllGlobals()
})

test("what a bucket has refilled of a block before it came back is not given twice", async () => {
  const policy = tokenBucket({ capacity: 10_000, refill: 10, every: 1 })
  const lease = { time: 100, share: 0.5 }
  const here = world()
  const ledger = memoryStore({ clock: here.clock })
  const all = leaseholders(here, ledger, policy, lease, [{ there: 0, back: 0 }])
  const parts = [{ scope: scopeOf("leased", "default"), key: "k", policy, cost: 1 }]
  const spendAll = () => {
    const answer = ledger.ask({ parts, count: 10_000, mode: "spend" }) as Answer
    all.grants.push({ at: answer.at, units: answer.granted })
  }
  for (let i = 0; i < 400; i += 1) all.ask(0, 1)
  await here.pass(1)
  all.ask(0, 1)
  await here.pass(60)
  expect(all.held).toBeGreaterThan(1_900)
  all.ask(0, 1)
  // the block is kept for as long as can be, and all that is there is spent just before it comes back
  await here.pass(88)
  expect(all.held).toBeGreaterThan(1_900)
  spendAll()
  await here.pass(1)
  expect(all.held).toBe(0)
  spendAll()
  await all.close()
  const bound = boundOf(policy)
  checkBound((units, span) => bound(units, span + BigInt(lease.time * 1_000)), all.grants)
})
