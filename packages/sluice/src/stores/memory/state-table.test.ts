import { describe, expect, test } from "vitest"
import { bytesHeld } from "../../../test/support/memory.js"
import { reference } from "../../../test/support/reference.js"
import { fixedWindow, type Policy, slidingLog, tokenBucket } from "../../policy.js"
import { policyRef } from "../../state-key.js"
import type { PolicyRequest } from "../../store.js"
import { manualClock } from "../../testing/manual-clock.js"
import { memoryStore } from "./memory-store.js"

const bucket = tokenBucket({ capacity: 5, refill: 1, every: "1h" })
const interval = tokenBucket({ capacity: 5, refill: 1, every: "1h", mode: "interval" })
const window = fixedWindow({ limit: 5, window: "1h" })
const log = slidingLog({ limit: 5, window: "1h" })

const part = (key: string, policy: Policy = bucket, ref = policyRef("api", "default")): PolicyRequest => ({
  ref,
  key,
  policy,
  cost: 1,
})

function setUp(maxKeys = 1_000_000) {
  const clock = manualClock()
  const store = memoryStore({ clock, maxKeys })
  const granted = (...policies: PolicyRequest[]) =>
    store.decide({ policies, count: 1, mode: "spend" }).granted
  return { clock, store, granted }
}

describe("keys that come and go", () => {
  test("keep their state", () => {
    const { clock, store } = setUp()
    const model = reference()
    const scopes = [policyRef("api", "a"), policyRef("api", "b"), policyRef("web", "a")]
    let seed = 1
    const below = (n: number) => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
      return Math.floor((seed / 2 ** 32) * n)
    }
    // A bucket in interval mode stays for its steps.
    const policies = [interval, bucket, bucket, window, window, log, log]
    const anyPart = () => part(`k${below(1_500)}`, policies[below(policies.length)], scopes[below(3)])
    let most = 0
    for (let i = 0; i < 30_000; i += 1) {
      clock.advance(1)
      const now = clock() * 1_000
      // First mostly inserts, then mostly removals.
      if (below(10) < (i < 15_000 ? 9 : 3)) {
        const request = { policies: [anyPart()], count: 1, mode: "spend" } as const
        expect(store.decide(request)).toEqual(model.ask(request, now))
      } else {
        const gone = Array.from({ length: 5 }, () => ({ ...anyPart(), cost: 5 }))
        store.giveBack(gone)
        model.giveBack(gone, now)
      }
      most = Math.max(most, store.size)
    }
    expect(most).toBeGreaterThan(3_000)
    expect(store.size).toBeLessThan(most / 2)
  })

  test("are found by the names in their reference, whichever object holds them", () => {
    const { store, granted } = setUp()
    const [one, other] = [policyRef("api", "default"), policyRef("api", "default")]
    granted(part("k", bucket, one))
    store.giveBack([part("k", bucket, one)])
    for (let i = 0; i < 5; i += 1) expect(granted(part("k", bucket, one))).toBe(1)
    expect(granted(part("k", bucket, other))).toBe(0)
    expect(granted(part("k", bucket, policyRef("api", "another")))).toBe(1)
    expect(store.size).toBe(2)
  })

  test("share one maximum and one sweep over all policies", () => {
    const { clock, store, granted } = setUp(100)
    for (let i = 0; i < 300; i += 1)
      granted(part(`k${i}`, [bucket, window, log][i % 3], policyRef("api", `p${i}`)))
    expect(store.size).toBe(100)
    clock.advance(3_601_001)
    for (let i = 0; i < 60; i += 1) granted(part(`new ${i}`))
    expect(store.size).toBeLessThan(80)
  })

  test("are charged all or nothing in one request, including new keys", () => {
    const { granted } = setUp()
    const [a, b] = [part("k", bucket, policyRef("api", "a")), part("k", bucket, policyRef("api", "b"))]
    for (let i = 0; i < 3; i += 1) granted(a)
    expect([granted(a, b), granted(b, a), granted(a, b)]).toEqual([1, 1, 0])
    expect([1, 2, 3, 4].map(() => granted(b))).toEqual([1, 1, 1, 0])
  })

  test("are charged when a new key of the same request removes expired keys", () => {
    const { clock, granted } = setUp()
    const brief = tokenBucket({ capacity: 5, refill: 5, every: "1s" })
    for (let i = 0; i < 1_000; i += 1) granted(part(`gone ${i}`, brief))
    clock.advance(10_000)
    for (let i = 0; i < 100; i += 1) {
      const known = part(`known ${i}`)
      for (const policies of [[known], [part(`new ${i}`), known], [known], [known], [known]]) {
        expect(granted(...policies)).toBe(1)
      }
      expect(granted(known)).toBe(0)
    }
  })
})

describe("a long key", () => {
  test("is distinguished from any other", () => {
    const { store, granted } = setUp()
    const long = "x".repeat(128)
    const keys = [long, `${long}x`, `${long}y`, "\ud800".repeat(129), "\ud801".repeat(129)]
    for (const key of keys) for (let i = 0; i < 5; i += 1) expect(granted(part(key))).toBe(1)
    for (const key of keys) expect(granted(part(key))).toBe(0)
    expect(store.size).toBe(5)
    store.giveBack(keys.map((key) => ({ ...part(key), cost: 5 })))
    expect(store.size).toBe(0)
  })

  test("is not kept in memory, nor the string that a short key was cut from", () => {
    const { granted } = setUp()
    const grown = bytesOf(() => {
      for (let i = 0; i < 5_000; i += 1) {
        const request = `${i}`.padEnd(5_000, `request ${i}`)
        granted(part(request))
        granted(part(request.slice(0, 20)))
      }
    })
    // A request of 5,000 characters that stayed would take at least 5,000 bytes.
    expect(grown / 10_000).toBeLessThan(600)
    expect(granted(part("k"))).toBe(1)
  })
})

test("a key of 16 characters takes at most 400 bytes", () => {
  const { store, granted } = setUp()
  const grown = bytesOf(() => {
    for (let i = 0; i < 260_000; i += 1) granted(part(`user:${String(i).padStart(11, "0")}`))
  })
  expect(grown / store.size).toBeLessThan(400)
})

test("removed keys take no memory", () => {
  const { store, granted } = setUp()
  const ref = policyRef("api", "default")
  const keys = Array.from({ length: 100_000 }, (_, i) => part(`user:${i}`, bucket, ref))
  const grown = bytesOf(() => {
    for (const key of keys) granted(key)
    store.giveBack(keys)
  })
  expect(store.size).toBe(0)
  expect(grown).toBeLessThan(300_000)
})

test("a request that evicts one of its own keys still counts what that key has spent", () => {
  const { granted } = setUp(1)
  const [a, b] = [part("k", bucket, policyRef("api", "a")), part("k", bucket, policyRef("api", "b"))]
  expect(granted(a)).toBe(1)
  expect(granted(b, a)).toBe(1)
  expect([1, 2, 3, 4].map(() => granted(a))).toEqual([1, 1, 1, 0])
})

test("requests that overflow the stack leave the store intact for all others", () => {
  const { clock, store, granted } = setUp(600)
  let [failed, passed, left] = [0, 0, 0]
  const request = () => {
    const number = failed + passed
    try {
      granted(part(`k${number}`, [bucket, interval, log][number % 3]))
      passed += 1
    } catch {
      failed += 1
    }
  }
  // Sends requests near the end of the stack. Calls with frames of another size overflow at other points.
  const down = (...size: number[]): void => {
    try {
      down(...size)
    } catch {}
    if (left > 0) request()
    left -= 1
  }
  for (let round = 0; round < 300; round += 1) {
    left = 12
    down(...new Array(round % 20).fill(0))
    clock.advance(round % 50 === 49 ? 3_700_000 : 1)
  }
  expect(failed).toBeGreaterThan(100)
  expect(passed).toBeGreaterThan(100)
  clock.advance(10_000_000)
  for (let i = 0; i < 700; i += 1) {
    for (let times = 0; times < 6; times += 1) expect(granted(part(`new ${i}`))).toBe(times < 5 ? 1 : 0)
  }
  expect(store.size).toBe(600)
})

function bytesOf(fill: () => void): number {
  const before = bytesHeld()
  fill()
  return bytesHeld() - before
}
