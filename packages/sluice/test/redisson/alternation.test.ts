import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { useRig } from "./rig.js"

const rig = useRig()

const rate = 10
const interval = 1_000

const step = fc.record({
  pause: fc.oneof(fc.constant(0), fc.nat(300), fc.nat(3_000)),
  who: fc.constantFrom("ours", "theirs"),
  what: fc.constantFrom("acquire", "acquire", "acquire", "acquire", "look"),
  permits: fc.integer({ min: 1, max: rate }),
})

/** The model of a limiter: grants that count for one interval. */
function model(now: () => number) {
  const grants: { at: number; permits: number }[] = []
  const counting = () => grants.filter(({ at }) => at > now() - interval)
  const free = () => counting().reduce((left, { permits }) => left - permits, rate)
  return {
    free,
    grant: (permits: number) => grants.push({ at: now(), permits }),
    wait(permits: number) {
      let short = permits - free()
      for (const grant of short > 0 ? counting() : []) {
        short -= grant.permits
        if (short <= 0) return grant.at + interval - now()
      }
      return 0
    },
    first: () => counting()[0]?.at as number,
  }
}

describe.each(["Bc0I", "Lc0I"] as const)(
  "Redisson's script and ours, alternating on entries of %s",
  (layout) => {
    test("give exactly the rate in any interval, and read each other's entries", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (history) => {
          const clock = rig.clock()
          const { ours, theirs, keys } = await rig.limiter(rate, interval, { clock, layout })
          const truth = model(clock)
          for (const { pause, who, what, permits } of history) {
            clock.advance(pause)
            const wait = truth.wait(permits)
            if (what === "look") {
              const seen = who === "ours" ? ours.availablePermits() : theirs.availablePermits().then(Number)
              expect(await seen).toBe(truth.free())
              continue
            }
            if (wait === 0) truth.grant(permits)
            if (who === "ours") {
              const left = { limit: rate, remaining: truth.free(), retryAfter: wait }
              expect(await ours.tryAcquire(permits)).toEqual({ allowed: wait === 0, ...left })
            } else {
              const theirWait = wait === 0 ? null : 3 + interval - (clock() - truth.first())
              expect(await theirs.tryAcquire(permits)).toBe(theirWait)
            }
          }
          // Both sources agree: the sum of the entries and the stored value.
          const entries = await rig.client.zrangeBuffer(keys.permits, 0, "-1")
          const held = entries.reduce((sum, entry) => sum + entry.readUInt32LE(entry.length - 4), 0)
          expect(Number((await rig.client.get(keys.value)) ?? rate) + held).toBe(rate)
        }),
        { numRuns: 60 },
      )
    })
  },
)

test("the entries decide, even if the value is wrong", async () => {
  const damage = fc.option(fc.constantFrom("gone", "-7", "0", "3", "10", "99", "1e400", "nan", "x"), {
    freq: 2,
  })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(step, damage), { minLength: 10, maxLength: 30 }), async (history) => {
      const clock = rig.clock()
      const { ours, keys } = await rig.limiter(rate, interval, { clock })
      const truth = model(clock)
      for (const [{ pause, what, permits }, harm] of history) {
        clock.advance(pause)
        if (harm === "gone") await rig.client.del(keys.value)
        else if (harm !== null) await rig.client.set(keys.value, harm)
        if (what === "look") {
          expect(await ours.availablePermits()).toBe(truth.free())
          continue
        }
        const wait = truth.wait(permits)
        if (wait === 0) truth.grant(permits)
        expect(await ours.tryAcquire(permits)).toMatchObject({
          allowed: wait === 0,
          remaining: truth.free(),
          retryAfter: wait,
        })
      }
    }),
    { numRuns: 60 },
  )
})
