import { describe, expect, test } from "vitest"
import { bytesHeld } from "../../../test/support/memory.js"
import { reference } from "../../../test/support/reference.js"
import { fixedWindow, type Policy, slidingLog, tokenBucket } from "../../policy.js"
import { scopeOf } from "../../state-key.js"
import type { Part } from "../../store.js"
import { manualClock } from "../../testing/manual-clock.js"
import { memoryStore } from "./memory-store.js"

const bucket = tokenBucket({ capacity: 5, refill: 1, every: "1h" })
const stepwise = tokenBucket({ capacity: 5, refill: 1, every: "1h", mode: "interval" })
const window = fixedWindow({ limit: 5, window: "1h" })
const log = slidingLog({ limit: 5, window: "1h" })

const part = (key: string, policy: Policy = bucket, scope = scopeOf("api", "default")): Part => ({
  scope,
  key,
  policy,
  cost: 1,
})

function setUp(maxKeys = 1_000_000) {
  const clock = manualClock()
  const store = memoryStore({ clock, maxKeys })
  const granted = (...parts: Part[]) => store.ask({ parts, count: 1, mode: "spend" }).granted
  return { clock, store, granted }
}

describe("keys that come and go", () => {
  test("keep their states, whoever's slot moves to where theirs was", () => {
    const { clock, store } = setUp()
    const model = reference()
    const scopes = [scopeOf("api", "a"), scopeOf("api", "b"), scopeOf("web", "a")]
    let seed = 1
    const below = (n: number) => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
      return Math.floor((seed / 2 ** 32) * n)
    }
    // one that has steps stays for them
    const policies = [stepwise, bucket, bucket, window, window, log, log]
    const anyPart = () => part(`k${below(1_500)}`, policies[below(policies.length)], scopes[below(3)])
    let most = 0
    for (let i = 0; i < 30_000; i += 1) {
      clock.advance(1)
      const now = clock() * 1_000
      // first they mostly come, then they mostly go
      if (below(10) < (i < 15_000 ? 9 : 3)) {
        const ask = { parts: [anyPart()], count: 1, mode: "spend" } as const
        expect(store.ask(ask)).toEqual(model.ask(ask, now))
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

  test("are found by the names of their scope, whichever object says them", () => {
    const { store, granted } = setUp()
    const [one, other] = [scopeOf("api", "default"), scopeOf("api", "default")]
    granted(part("k", bucket, one))
    store.giveBack([part("k", bucket, one)])
    for (let i = 0; i < 5; i += 1) expect(granted(part("k", bucket, one))).toBe(1)
    expect(granted(part("k", bucket, other))).toBe(0)
    expect(granted(part("k", bucket, scopeOf("api", "another")))).toBe(1)
    expect(store.size).toBe(2)
  })

  test("share one cap, and one sweep, over all scopes", () => {
    const { clock, store, granted } = setUp(100)
    for (let i = 0; i < 300; i += 1)
      granted(part(`k${i}`, [bucket, window, log][i % 3], scopeOf("api", `p${i}`)))
    expect(store.size).toBe(100)
    clock.advance(3_601_001)
    for (let i = 0; i < 60; i += 1) granted(part(`new ${i}`))
    expect(store.size).toBeLessThan(80)
  })

  test("are charged all or none when several are asked for at once, new ones among them", () => {
    const { granted } = setUp()
    const [a, b] = [part("k", bucket, scopeOf("api", "a")), part("k", bucket, scopeOf("api", "b"))]
    for (let i = 0; i < 3; i += 1) granted(a)
    expect([granted(a, b), granted(b, a), granted(a, b)]).toEqual([1, 1, 0])
    expect([1, 2, 3, 4].map(() => granted(b))).toEqual([1, 1, 1, 0])
  })

  test("are charged where they are when one that is asked for with them is new, and they move for it", () => {
    const { clock, granted } = setUp()
    const brief = tokenBucket({ capacity: 5, refill: 5, every: "1s" })
    for (let i = 0; i < 1_000; i += 1) granted(part(`gone ${i}`, brief))
    clock.advance(10_000)
    for (let i = 0; i < 100; i += 1) {
      const known = part(`known ${i}`)
      for (const parts of [[known], [part(`new ${i}`), known], [known], [known], [known]]) {
        expect(granted(...parts)).toBe(1)
      }
      expect(granted(known)).toBe(0)
    }
  })
})

describe("a long key", () => {
  test("is told from any other", () => {
    const { store, granted } = setUp()
    const long = "x".repeat(128)
    const keys = [long, `${long}x`, `${long}y`, "\ud800".repeat(129), "\ud801".repeat(129)]
    for (const key of keys) for (let i = 0; i < 5; i += 1) expect(granted(part(key))).toBe(1)
    for (const key of keys) expect(granted(part(key))).toBe(0)
    expect(store.size).toBe(5)
    store.giveBack(keys.map((key) => ({ ...part(key), cost: 5 })))
    expect(store.size).toBe(0)
  })

  test("is not kept, nor what a short one was cut out of", () => {
    const { granted } = setUp()
    const grown = bytesOf(() => {
      for (let i = 0; i < 5_000; i += 1) {
        const request = `${i}`.padEnd(5_000, `request ${i}`)
        granted(part(request))
        granted(part(request.slice(0, 20)))
      }
    })
    expect(grown / 10_000).toBeLessThan(200)
    expect(granted(part("k"))).toBe(1)
  })
})

test("a key of 16 characters takes at most 80 bytes", () => {
  const { store, granted } = setUp()
  const grown = bytesOf(() => {
    for (let i = 0; i < 260_000; i += 1) granted(part(`user:${String(i).padStart(11, "0")}`))
  })
  expect(grown / store.size).toBeLessThan(80)
})

test("keys that are gone take nothing", () => {
  const { store, granted } = setUp()
  const scope = scopeOf("api", "default")
  const keys = Array.from({ length: 100_000 }, (_, i) => part(`user:${i}`, bucket, scope))
  const grown = bytesOf(() => {
    for (const key of keys) granted(key)
    store.giveBack(keys)
  })
  expect(store.size).toBe(0)
  expect(grown).toBeLessThan(300_000)
})

test("a key with a line of turns makes no others larger, where they move to", () => {
  const { clock, store, granted } = setUp()
  const scope = scopeOf("api", "default")
  const keys = Array.from({ length: 60_000 }, (_, i) => part(`user:${i}`, bucket, scope))
  for (const key of keys) granted(key)
  const grown = bytesOf(() => {
    const ask = { parts: [part("waits", bucket, scope)], count: 1, mode: "book", maxWait: 1e12 } as const
    for (let turn = 0; turn < 9; turn += 1) store.ask(ask)
    // one of each chunk
    for (let i = 0; i < keys.length; i += 1_000) store.forget([keys[i] as Part])
  })
  expect(grown).toBeLessThan(300_000)
  expect(store.ask({ parts: [part("waits", bucket, scope)], count: 1, mode: "spend" }).granted).toBe(0)
  clock.advance(4 * 3_600_000)
  expect(store.ask({ parts: [part("waits", bucket, scope)], count: 1, mode: "spend" }).granted).toBe(0)
})

test("asks that run out of stack leave a store that answers, and limits, all others", () => {
  const { clock, store, granted } = setUp(600)
  let [failed, passed, left] = [0, 0, 0]
  const ask = () => {
    const number = failed + passed
    try {
      granted(part(`k${number}`, [bucket, stepwise, log][number % 3]))
      passed += 1
    } catch {
      failed += 1
    }
  }
  // asks from where the stack ends, and from a few calls above it; calls of another size end elsewhere
  const down = (...size: number[]): void => {
    try {
      down(...size)
    } catch {}
    if (left > 0) ask()
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
