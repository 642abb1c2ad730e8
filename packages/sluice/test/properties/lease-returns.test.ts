import { memoryStore, tokenBucket } from "sluice"
import { policyRef, type StoreReply } from "sluice/store"
import { afterEach, expect, test, vi } from "vitest"
import { boundOf, checkBound } from "../support/bounds.js"
import { leaseholders } from "../support/leaseholders.js"
import { world } from "../support/world.js"

afterEach(() => {
  vi.unstubAllGlobals()
})

test("units refilled before a block came back are not given back twice", async () => {
  const policy = tokenBucket({ capacity: 10_000, refill: 10, every: 1 })
  const lease = { time: 100, share: 0.5 }
  const here = world()
  const baseStore = memoryStore({ clock: here.clock })
  const all = leaseholders(here, baseStore, policy, lease, [{ there: 0, back: 0 }])
  const policies = [{ ref: policyRef("leased", "default"), key: "k", policy, cost: 1 }]
  const spendAll = () => {
    const reply = baseStore.decide({ policies, count: 10_000, mode: "spend" }) as StoreReply
    all.grants.push({ at: reply.at, units: reply.granted })
  }
  for (let i = 0; i < 400; i += 1) all.ask(0, 1)
  await here.pass(1)
  all.ask(0, 1)
  await here.pass(60)
  expect(all.held).toBeGreaterThan(1_900)
  all.ask(0, 1)
  // The block is held for as long as possible, and everything left is spent just before it comes back.
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
