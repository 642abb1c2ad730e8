import { randomBytes } from "node:crypto"
import { describe, expect, test } from "vitest"
import { pack } from "../support/redisson.js"
import { useRig } from "./rig.js"

const rig = useRig()

describe("entries packed by hand", () => {
  test.each([
    ["Bc0I", 16],
    ["Bc0I", 0],
    ["Bc0I", 255],
    ["Lc0I", 8],
    ["Lc0I", 16],
    ["Lc0I", 0],
    ["fI", 4],
  ] as const)("of %s with %i random bytes are read", async (layout, length) => {
    const clock = rig.clock()
    const { ours, keys } = await rig.limiter(100_000, 1_000, { clock })
    for (const permits of [1, 255, 256, 65_537]) {
      const entry = pack(layout, randomBytes(length), permits)
      await rig.client.zadd(keys.permits, clock(), entry)
      expect(await ours.availablePermits()).toBe(100_000 - permits)
      expect(await ours.tryAcquire(100_000)).toMatchObject({ allowed: false, retryAfter: 1_000 })
      await rig.client.del(keys.permits)
    }
  })

  test("of all layouts are read side by side, and all count for the wait", async () => {
    const clock = rig.clock()
    const { ours, keys } = await rig.limiter(100, 1_000, { clock })
    await rig.client.zadd(keys.permits, 9_100, pack("Lc0I", randomBytes(8), 20))
    await rig.client.zadd(keys.permits, 9_200, pack("Bc0I", randomBytes(16), 30))
    await rig.client.zadd(keys.permits, 9_300, pack("fI", randomBytes(4), 40))
    const wait = async (permits: number) => (await ours.tryAcquire(permits)).retryAfter
    expect(await ours.availablePermits()).toBe(10)
    expect([await wait(30), await wait(31), await wait(60), await wait(61)]).toEqual([100, 200, 200, 300])
  })

  test("of any other form never throw, count as one permit each and expire like the others", async () => {
    const clock = rig.clock()
    const { ours, keys } = await rig.limiter(100, 1_000, { clock })
    const strange = ["", "x", "abcd", "\u0010too short", "a-uuid-of-somebody-else", Buffer.alloc(40, 255)]
    for (const member of strange) await rig.client.zadd(keys.permits, 9_500, member)
    expect(await ours.availablePermits()).toBe(94)
    expect(await ours.tryAcquire(95)).toMatchObject({ allowed: false, retryAfter: 500 })
    expect(await ours.tryAcquire(94)).toMatchObject({ allowed: true })
    clock.set(10_500)
    expect(await ours.tryAcquire(6)).toMatchObject({ allowed: true, remaining: 0 })
    expect(await rig.client.zcard(keys.permits)).toBe(2)
  })

  test("of the largest number of permits are written and read", async () => {
    const clock = rig.clock()
    const { ours } = await rig.limiter(2 ** 33, 1_000, { clock })
    const most = 2 ** 32 - 1
    expect(await ours.tryAcquire(most)).toMatchObject({ allowed: true, remaining: 2 ** 33 - most })
    expect(await ours.tryAcquire(most)).toMatchObject({ allowed: true, remaining: 2 })
    expect(await ours.availablePermits()).toBe(2)
  })
})

describe("with very many entries", () => {
  const many = 1_000

  /** How often the server looked for entries while `use` ran. */
  async function looks(use: () => Promise<unknown>): Promise<number> {
    await rig.client.config("RESETSTAT")
    await use()
    const stats = await rig.client.info("commandstats")
    return Number(/cmdstat_zrangebyscore:calls=(\d+)/.exec(stats)?.[1])
  }

  async function full(permitsEach: number, room: number) {
    const clock = rig.clock()
    const limiter = await rig.limiter(many * permitsEach + room, 1_000, { clock })
    const entries = Array.from({ length: many }, (_, i) => [
      9_001 + i / 2,
      pack("Bc0I", randomBytes(16), permitsEach),
    ])
    await rig.client.zadd(limiter.keys.permits, ...(entries.flat() as [number, Buffer]))
    await rig.client.set(limiter.keys.value, room)
    return { ...limiter, clock }
  }

  test("a plausible value is trusted, and not all entries are read", async () => {
    const { ours } = await full(3, 50)
    expect(await looks(() => ours.tryAcquire(2))).toBe(1)
    expect(await ours.availablePermits()).toBe(48)
    // A denial that follows from the number of entries.
    const { ours: single } = await full(1, 5)
    expect(await looks(() => single.tryAcquire(6))).toBe(2)
    expect(await single.tryAcquire(6)).toMatchObject({ allowed: false, remaining: 5, retryAfter: 1 })
  })

  test.each([
    ["gone", null],
    ["too high to be true", 2_100],
    ["far too low", -500],
    ["no number", "x"],
  ])("a value that is %s is corrected", async (_, wrong) => {
    const { ours, keys } = await full(3, 50)
    if (wrong === null) await rig.client.del(keys.value)
    else await rig.client.set(keys.value, wrong)
    expect(await ours.availablePermits()).toBe(50)
    expect(await ours.tryAcquire(51)).toMatchObject({ allowed: false, remaining: 50, retryAfter: 1 })
    expect(await rig.client.get(keys.value)).toBe("50")
    expect(await ours.tryAcquire(50)).toMatchObject({ allowed: true, remaining: 0 })
  })

  test("the wait for many entries to expire is exact", async () => {
    const { ours, clock } = await full(1, 0)
    // The 901st was given at 9451.
    expect(await ours.tryAcquire(901)).toMatchObject({ allowed: false, retryAfter: 451 })
    clock.advance(450)
    expect(await ours.tryAcquire(901)).toMatchObject({ allowed: false, retryAfter: 1 })
    clock.advance(1)
    expect(await ours.tryAcquire(901)).toMatchObject({ allowed: true })
  })
})
