import { describe, expect, test } from "vitest"
import { useRig } from "./rig.js"

// Problems that users of Redisson's rate limiter have reported, by issue number: counting.
const rig = useRig()

describe("never more than the rate", () => {
  test("Redisson #2072: not with the first permits either", async () => {
    const clock = rig.clock()
    const { ours } = await rig.limiter(5, 1_000, { clock })
    await expect(ours.tryAcquire(6)).rejects.toMatchObject({ code: "INVALID_COST" })
    const decisions = await Promise.all(Array.from({ length: 20 }, () => ours.tryAcquire(2)))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(2)
    expect(await ours.availablePermits()).toBe(1)
  })

  test("Redisson #2931: not across the end of an interval", async () => {
    const clock = rig.clock()
    const { ours } = await rig.limiter(10, 1_000, { clock })
    clock.set(10_990)
    expect((await ours.tryAcquire(10)).allowed).toBe(true)
    clock.set(11_010)
    expect(await ours.tryAcquire(1)).toMatchObject({ allowed: false, retryAfter: 980 })
  })

  test("Redisson #2617: permits come back one by one, each an interval after it was given", async () => {
    const clock = rig.clock()
    const { ours } = await rig.limiter(10, 1_000, { clock })
    for (let i = 0; i < 10; i += 1) {
      clock.set(10_000 + i * 100)
      await ours.tryAcquire()
    }
    const free: number[] = []
    for (let i = 0; i <= 10; i += 1) {
      clock.set(10_950 + i * 100)
      free.push(await ours.availablePermits())
    }
    expect(free).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })

  test("Redisson #3639: not under clock skew of the callers, because the server's clock counts", async () => {
    const { ours } = await rig.limiter(5, 60_000)
    const real = Date.now
    const granted: boolean[] = []
    try {
      for (const skew of [0, 3_600_000, -3_600_000, 86_400_000]) {
        Date.now = () => real() + skew
        for (let i = 0; i < 3; i += 1) granted.push((await ours.tryAcquire()).allowed)
      }
    } finally {
      Date.now = real
    }
    expect(granted.filter(Boolean)).toHaveLength(5)
  })

  test("Redisson #7329: released permits never make for more than the rate", async () => {
    const clock = rig.clock()
    const { ours, theirs } = await rig.limiter(10, 1_000, { clock })
    await ours.tryAcquire(3)
    await theirs.releaseOfOld(8)
    expect(await ours.availablePermits()).toBe(7)
    expect((await ours.tryAcquire(8)).allowed).toBe(false)
    expect((await ours.tryAcquire(7)).allowed).toBe(true)
  })
})

describe("never less than the rate", () => {
  test("Redisson #4176: permits come back after the interval, without a request in between", async () => {
    const clock = rig.clock()
    const { ours, theirs } = await rig.limiter(4, 1_000, { clock })
    for (let round = 0; round < 5; round += 1) {
      expect(await ours.tryAcquire(2)).toMatchObject({ allowed: true, remaining: 2 })
      expect(await theirs.tryAcquire(2)).toBeNull()
      clock.advance(1_000)
      expect(await ours.availablePermits()).toBe(4)
    }
  })

  test("Redisson #3804: hundreds of callers for ten intervals get the whole rate in each of them", async () => {
    const clock = rig.clock()
    const { ours, theirs, keys } = await rig.limiter(50, 1_000, { clock })
    for (let round = 0; round < 10; round += 1) {
      const asks = Array.from({ length: 200 }, (_, i) =>
        i % 2 === 0
          ? ours.tryAcquire().then(({ allowed }) => allowed)
          : theirs.tryAcquire(1).then((w) => w === null),
      )
      expect((await Promise.all(asks)).filter(Boolean)).toHaveLength(50)
      clock.advance(1_000)
    }
    // Permits lost to drift before are found again, for Redisson too.
    await rig.client.decrby(keys.value, 30)
    expect((await ours.tryAcquire(50)).allowed).toBe(true)
    clock.advance(1_000)
    expect(await theirs.tryAcquire(50)).toBeNull()
  })

  test("Redisson #5687: grants of one moment never overwrite each other", async () => {
    const clock = rig.clock()
    const { ours, theirs, keys } = await rig.limiter(2_000, 1_000, { clock })
    await Promise.all(Array.from({ length: 1_000 }, () => ours.tryAcquire()))
    expect(await rig.client.zcard(keys.permits)).toBe(1_000)
    // Two of Redisson's grants that did: Redisson loses one permit in `value`, and we find it.
    const same = Buffer.alloc(16, 7)
    await theirs.tryAcquire(1, same)
    clock.advance(1)
    await theirs.tryAcquire(1, same)
    expect(await rig.client.get(keys.value)).toBe("998")
    expect(await ours.availablePermits()).toBe(999)
    expect((await ours.tryAcquire(999)).allowed).toBe(true)
  })

  test("Redisson #7342: released permits are not lost when the value is recomputed", async () => {
    const clock = rig.clock()
    const { ours, theirs, keys } = await rig.limiter(10, 1_000, { clock })
    await ours.tryAcquire(6)
    await theirs.release(4)
    expect(await ours.availablePermits()).toBe(8)
    await rig.client.del(keys.value)
    expect(await ours.tryAcquire(8)).toMatchObject({ allowed: true, remaining: 0 })
  })
})

describe("never an error for a readable state", () => {
  test.each(["#2987", "#3025", "#3197", "#3444", "#5516"])(
    "%s: no entries at all, with or without a value",
    async () => {
      const clock = rig.clock()
      const { ours, theirs, keys } = await rig.limiter(10, 1_000, { clock })
      await rig.client.set(keys.value, 3)
      expect(await ours.availablePermits()).toBe(10)
      expect(await ours.tryAcquire(4)).toMatchObject({ allowed: true, remaining: 6 })
      await rig.client.del(keys.value)
      expect(await ours.tryAcquire(6)).toMatchObject({ allowed: true, remaining: 0 })
      expect(await rig.client.get(keys.value)).toBe("0")
      expect(await theirs.tryAcquire(1)).toBe(1_003)
    },
  )

  test("Redisson #4680: a value too low without entries, where Redisson throws forever", async () => {
    const clock = rig.clock()
    const { ours, theirs, keys } = await rig.limiter(10, 1_000, { clock })
    await theirs.tryAcquire(10)
    await rig.client.del(keys.permits)
    await expect(theirs.tryAcquire(1)).rejects.toThrow(/nil/)
    clock.advance(60_000)
    await expect(theirs.tryAcquire(1)).rejects.toThrow(/nil/)
    expect(await ours.tryAcquire(1)).toMatchObject({ allowed: true, remaining: 9 })
    expect(await theirs.tryAcquire(9)).toBeNull()
  })

  test("entries without a value: Redisson would give the rate once more, and our denial prevents that", async () => {
    const clock = rig.clock()
    const { ours, theirs, keys } = await rig.limiter(10, 1_000, { clock })
    await theirs.tryAcquire(8)
    await rig.client.del(keys.value)
    expect(await ours.tryAcquire(3)).toMatchObject({ allowed: false, remaining: 2, retryAfter: 1_000 })
    expect(await rig.client.get(keys.value)).toBe("2")
    expect(await theirs.tryAcquire(3)).toBe(1_003)
  })
})
