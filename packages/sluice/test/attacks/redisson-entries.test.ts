import { randomBytes } from "node:crypto"
import { expect, test } from "vitest"
import { useRig } from "../redisson/rig.js"
import { pack } from "../support/redisson.js"

const rig = useRig()

test.each([1, 200])(
  "a Redisson refusal removes 100,000 entries that have left, beside %i that count",
  async (count) => {
    const clock = rig.clock()
    const { ours, theirs, keys } = await rig.limiter(1_000, 1_000, { clock })
    const add = async (entries: number, at: number, permits: number) => {
      for (let i = 0; i < entries; i += 10_000) {
        const members = Array.from({ length: Math.min(10_000, entries - i) }, () => [
          at,
          pack("Bc0I", randomBytes(16), permits),
        ])
        await rig.client.zadd(keys.permits, ...members.flat())
      }
    }
    await add(100_000, clock() - 5_000, 1)
    await add(count, clock() - 400, 1_000 / count)
    await rig.client.set(keys.value, -100_000)

    expect(await ours.tryAcquire(1)).toMatchObject({ allowed: false, retryAfter: 600 })
    expect(await rig.client.zcard(keys.permits)).toBe(count)
    expect(await rig.client.get(keys.value)).toBe("0")

    await rig.client.config("RESETSTAT")
    expect(await ours.tryAcquire(1)).toMatchObject({ allowed: false })
    const stats = await rig.client.info("commandstats")
    // microseconds
    expect(Number(/cmdstat_eval\w*:calls=1,usec=(\d+)/.exec(stats)?.[1])).toBeLessThan(5_000)
    clock.advance(600)
    expect(await theirs.tryAcquire(1)).toBeNull()
    expect((await ours.tryAcquire(999)).allowed).toBe(true)
    expect((await ours.tryAcquire(1)).allowed).toBe(false)
  },
)
