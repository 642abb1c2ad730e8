import { describe, expect, test } from "vitest"
import { pack, unpack } from "../support/redisson.js"
import { useRig } from "./rig.js"

// Document 002 works through four requests with 100 permits per 1000 ms.
const rig = useRig()

describe.each(["Bc0I", "Lc0I"] as const)("the four requests of 002 on entries of %s", (layout) => {
  test("end as in the document, except for an exact wait", async () => {
    const clock = rig.clock()
    const { ours, theirs, keys } = await rig.limiter(100, 1_000, { clock, layout })
    const request = (at: number, permits: number) => {
      clock.set(at)
      return ours.tryAcquire(permits)
    }
    expect(await request(10_000, 5)).toEqual({ allowed: true, limit: 100, remaining: 95, retryAfter: 0 })
    expect(await request(10_100, 30)).toMatchObject({ allowed: true, remaining: 65 })
    expect(await request(10_200, 100)).toEqual({ allowed: false, limit: 100, remaining: 65, retryAfter: 900 })
    // Redisson, on the same state at the same moment, reads only the first entry, and adds 3.
    expect(await theirs.tryAcquire(100)).toBe(803)
    expect(await request(11_200, 50)).toMatchObject({ allowed: true, remaining: 50 })
    expect(await rig.client.get(keys.value)).toBe("50")
  })

  test("are granted by Redisson's script as by ours", async () => {
    const clock = rig.clock()
    const { ours, theirs } = await rig.limiter(100, 1_000, { clock, layout })
    const left: number[] = []
    for (const [at, permits] of [
      [10_000, 5],
      [10_100, 30],
      [11_200, 50],
    ] as const) {
      clock.set(at)
      expect(await theirs.tryAcquire(permits)).toBeNull()
      left.push(await ours.availablePermits())
    }
    expect(left).toEqual([95, 65, 50])
  })

  test("leave entries in exactly this layout", async () => {
    const clock = rig.clock()
    const { ours, keys } = await rig.limiter(100, 1_000, { clock, layout })
    await ours.tryAcquire(5)
    clock.set(10_100)
    await ours.tryAcquire(30)
    const entries = await rig.client.zrangeBuffer(keys.permits, 0, "-1", "WITHSCORES")
    const [first, firstAt, second, secondAt] = entries as [Buffer, Buffer, Buffer, Buffer]
    expect([String(firstAt), String(secondAt)]).toEqual(["10000", "10100"])
    expect(unpack(layout, first)).toEqual({ random: expect.objectContaining({ length: 16 }), permits: 5 })
    expect(unpack(layout, second)).toMatchObject({ permits: 30 })
    expect(pack(layout, unpack(layout, first).random, 5).equals(first)).toBe(true)
    expect(unpack(layout, first).random.equals(unpack(layout, second).random)).toBe(false)
    // The rate and the value are text, like Redisson's numbers.
    expect(await rig.client.get(keys.value)).toBe("65")
  })
})

test("the request passes exactly after the wait, to the millisecond", async () => {
  const clock = rig.clock()
  const { ours } = await rig.limiter(100, 1_000, { clock })
  for (const [at, permits] of [
    [10_000, 5],
    [10_100, 30],
    [10_150, 65],
  ] as const) {
    clock.set(at)
    expect((await ours.tryAcquire(permits)).allowed).toBe(true)
  }
  for (const [permits, wait] of [
    [1, 800],
    [5, 800],
    [6, 900],
    [35, 900],
    [36, 950],
    [100, 950],
  ] as const) {
    clock.set(10_200)
    expect(await ours.tryAcquire(permits)).toMatchObject({ allowed: false, remaining: 0, retryAfter: wait })
    clock.set(10_200 + wait - 1)
    expect(await ours.tryAcquire(permits)).toMatchObject({ allowed: false, retryAfter: 1 })
  }
  clock.set(11_150)
  expect((await ours.tryAcquire(100)).allowed).toBe(true)
})
