import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { distantStore, settled } from "../../test/support/distant-store.js"
import { type World, world } from "../../test/support/world.js"
import { createLimiter } from "../create-limiter.js"
import { Later } from "../later.js"
import { tokenBucket } from "../policy.js"
import { scopeOf } from "../state-key.js"
import type { Answer, Ask } from "../store.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { byStretch } from "../stretch.js"
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

/** A limiter that holds a block of a store that has no clock of its own. */
async function leased() {
  const ledger = memoryStore({ clock: here.clock })
  const { clock: _, ...store } = distantStore(here.clock, undefined, ledger)
  const limiter = createLimiter({
    policy,
    store,
    lease: { time: 100 },
  })
  const source = () => limiter.tryAcquire("k").then(({ source }) => source)
  for (let asked = 0; (await source()) !== "lease"; asked += 1) expect(asked).toBeLessThan(50)
  return { source }
}

test("a block of a store without a clock lasts as long by the clock of the process", async () => {
  const { source } = await leased()
  here.clock.advance(99)
  expect(await source()).toBe("lease")
  here.clock.advance(1)
  expect(await source()).toBe("store")
})

test("who asks in one go asks at one moment", async () => {
  const { source } = await leased()
  const first = source()
  here.clock.advance(100)
  const second = source()
  expect([await first, await second, await source()]).toEqual(["lease", "lease", "store"])
})

test("what the store says is not dated before it was said", async () => {
  const ledger = memoryStore({ clock: here.clock })
  const replies: (() => void)[] = []
  const ask = (asked: Ask) => {
    const answer = new Later<Answer>()
    replies.push(() => answer.resolve(ledger.ask(asked)))
    return answer
  }
  const { clock: _, ...store } = { ...ledger, ask }
  const lease = leases(store, { time: 100, share: 0.5 })
  const part = { scope: scopeOf("api", "default"), key: "k", policy, cost: 1 }
  for (let times = 0; times < 3; times += 1) {
    for (let i = 0; i < 10; i += 1) lease.ask({ parts: [part], count: 1, mode: "spend" })
    await settled()
    // the reply comes while the code at hand, which has looked at the clock, has been busy for a while
    byStretch()
    here.clock.advance(30)
    for (const reply of replies.splice(0)) reply()
    await settled()
  }
  const told = (await lease.ask({ parts: [part], count: 1, mode: "peek" })) as Answer
  const there = ledger.ask({ parts: [part], count: 1, mode: "peek" })
  expect(told.source).toBe("lease")
  // they differ by what blocks hold, in whole units, and by no time
  expect((there.levels[0]?.[0] as number) - (told.levels[0]?.[0] as number)).toSatisfy(
    (us: number) => us > 0 && us % 1_000_000 === 0,
  )
})
