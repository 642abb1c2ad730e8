import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { distantStore, settled } from "../../test/support/distant-store.js"
import { type World, world } from "../../test/support/world.js"
import { createLimiter } from "../create-limiter.js"
import { Deferred } from "../deferred.js"
import { tokenBucket } from "../policy.js"
import { policyRef } from "../state-key.js"
import type { StoreReply, StoreRequest } from "../store.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { withLayers } from "./compose.js"
import { leases } from "./lease.js"

let here: World
beforeEach(() => {
  here = world()
  vi.spyOn(performance, "now").mockImplementation(() => here.clock())
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

const policy = tokenBucket({ capacity: 10_000, refill: 1, every: "1s" })

/** A limiter with a block of a store without a clock of its own. */
async function leased() {
  const baseStore = memoryStore({ clock: here.clock })
  const { clock: _, ...store } = distantStore(here.clock, undefined, baseStore)
  const limiter = createLimiter({
    policy,
    store: withLayers(store, { leases }),
    lease: { time: 100 },
  })
  const source = () => limiter.tryAcquire("k").then(({ source }) => source)
  for (let asked = 0; (await source()) !== "lease"; asked += 1) expect(asked).toBeLessThan(50)
  return { source }
}

test("a block of a store without a clock lasts its time by the clock of the process", async () => {
  const { source } = await leased()
  here.clock.advance(99)
  expect(await source()).toBe("lease")
  here.clock.advance(1)
  expect(await source()).toBe("store")
})

test("a reply of the store is not dated before it arrived", async () => {
  const baseStore = memoryStore({ clock: here.clock })
  const replies: (() => void)[] = []
  const request = (asked: StoreRequest) => {
    const reply = new Deferred<StoreReply>()
    replies.push(() => reply.resolve(baseStore.decide(asked)))
    return reply
  }
  const { clock: _, ...store } = { ...baseStore, decide: request }
  const lease = leases(store, { time: 100, share: 0.5 })
  const part = { ref: policyRef("api", "default"), key: "k", policy, cost: 1 }
  for (let times = 0; times < 3; times += 1) {
    for (let i = 0; i < 10; i += 1) lease.decide({ policies: [part], count: 1, mode: "spend" })
    await settled()
    // The reply takes 30 ms.
    here.clock.advance(30)
    for (const reply of replies.splice(0)) reply()
    await settled()
  }
  const told = (await lease.decide({ policies: [part], count: 1, mode: "peek" })) as StoreReply
  const there = baseStore.decide({ policies: [part], count: 1, mode: "peek" })
  expect(told.source).toBe("lease")
  // They differ by the units that blocks hold, and not in time.
  expect((there.levels[0]?.[0] as number) - (told.levels[0]?.[0] as number)).toSatisfy(
    (us: number) => us > 0 && us % 1_000_000 === 0,
  )
})
