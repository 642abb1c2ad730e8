import { describe, expect, test } from "vitest"
import { useRig } from "./rig.js"

const rig = useRig()

describe("a denial", () => {
  test("writes nothing, and neither does availablePermits", async () => {
    const clock = rig.clock()
    const { ours, theirs } = await rig.limiter(5, 1_000, { clock })
    expect(await ours.availablePermits()).toBe(5)
    await ours.tryAcquire(2)
    clock.advance(600)
    await theirs.tryAcquire(3)
    clock.advance(600) // entries that have left and are still there
    const before = await rig.everything()
    expect(before.length).toBeGreaterThan(2)
    expect((await ours.tryAcquire(5)).allowed).toBe(false)
    expect((await ours.tryAcquire(3)).allowed).toBe(false)
    expect(await ours.availablePermits()).toBe(2)
    expect(await rig.everything()).toEqual(before)
  })

  test("renews keepAliveTime, as with Redisson", async () => {
    const { name, ours, keys } = await rig.limiter(1, 10_000, { keepAlive: 60_000 })
    await ours.tryAcquire()
    const all = [name, keys.value, keys.permits]
    for (const key of all) await rig.client.pexpire(key, 5_000)
    await ours.availablePermits()
    for (const key of all) expect(await rig.client.pttl(key)).toBeLessThanOrEqual(5_000)
    expect((await ours.tryAcquire()).allowed).toBe(false)
    for (const key of all) expect(await rig.client.pttl(key)).toBeGreaterThan(59_000)
  })

  test("does not change an expiry without keepAliveTime", async () => {
    const { name, ours } = await rig.limiter(1, 10_000)
    await rig.client.pexpire(name, 50_000)
    await ours.tryAcquire()
    const before = await rig.everything()
    expect((await ours.tryAcquire()).allowed).toBe(false)
    expect(await rig.everything()).toEqual(before)
  })
})

describe("stored state is removed", () => {
  test("keepAliveTime after the last use, all keys together", async () => {
    const { name, ours, keys } = await rig.limiter(5, 10_000, { keepAlive: 30_000 })
    for (const use of [() => ours.tryAcquire(), () => ours.setRate("OVERALL", 6, "10s", "30s")]) {
      await use()
      for (const key of [name, keys.value, keys.permits]) {
        expect(await rig.client.pttl(key)).toBeGreaterThan(29_000)
        expect(await rig.client.pttl(key)).toBeLessThanOrEqual(30_000)
      }
    }
  })

  test("Redisson #4301: with the configuration, if that has an expiry", async () => {
    const { name, ours, theirs, keys } = await rig.limiter(5, 10_000)
    await rig.client.pexpire(name, 40_000)
    for (const use of [() => ours.tryAcquire(), () => theirs.tryAcquire(1), () => ours.tryAcquire()]) {
      await use()
      for (const key of [keys.value, keys.permits]) {
        expect(await rig.client.pttl(key)).toBeGreaterThan(39_000)
        expect(await rig.client.pttl(key)).toBeLessThanOrEqual(40_000)
      }
    }
  })

  test("never before the configuration: Redisson would not renew an expiry, and would lose its grants", async () => {
    const clock = rig.clock()
    const { ours, theirs, keys } = await rig.limiter(5, 1_000, { clock })
    await ours.tryAcquire(2)
    expect(await rig.client.pttl(keys.value)).toBe(-1)
    expect(await rig.client.pttl(keys.permits)).toBe(-1)
    // What would happen if our script left an expiry, and only Redisson was used until then.
    await rig.client.pexpire(keys.value, 60_000)
    await rig.client.pexpire(keys.permits, 60_000)
    clock.advance(900)
    await theirs.tryAcquire(3)
    clock.advance(200)
    await theirs.tryAcquire(2)
    expect(await rig.client.pttl(keys.value)).toBe(-1)
    expect(await rig.client.pttl(keys.permits)).toBeGreaterThan(0)
    await rig.client.del(keys.permits) // it expires
    clock.advance(60_000)
    await expect(theirs.tryAcquire(1)).rejects.toThrow(/nil/)
  })

  test("never before the configuration: an expiry that was left behind is removed", async () => {
    const { name, ours, keys } = await rig.limiter(5, 10_000, { keepAlive: 30_000 })
    await ours.tryAcquire()
    await ours.setRate("OVERALL", 5, "10s")
    for (const key of [name, keys.value, keys.permits]) expect(await rig.client.pttl(key)).toBe(-1)
    await rig.client.pexpire(keys.permits, 1_000)
    await ours.tryAcquire()
    expect(await rig.client.pttl(keys.permits)).toBe(-1)
  })

  test("one interval after the last grant, under PER_CLIENT", async () => {
    const { ours, keys } = await rig.limiter(5, 10_000, { type: "PER_CLIENT" })
    await ours.tryAcquire()
    for (const key of [keys.ownValue, keys.ownPermits]) {
      expect(await rig.client.pttl(key)).toBeGreaterThan(10_000)
      expect(await rig.client.pttl(key)).toBeLessThanOrEqual(11_000)
    }
  })

  test("by delete, which returns whether anything was stored", async () => {
    const { name, ours, keys } = await rig.limiter(5, 10_000)
    await ours.tryAcquire()
    expect(await ours.delete()).toBe(true)
    expect(await rig.client.exists(name, ...Object.values(keys))).toBe(0)
    expect(await ours.delete()).toBe(false)
    expect(await ours.getConfig()).toBeUndefined()
  })

  test("by delete for this client, and not for others", async () => {
    const { ours, theirs, keys, name } = await rig.limiter(5, 10_000, { type: "PER_CLIENT" })
    await ours.tryAcquire()
    await theirs.tryAcquire(1)
    await ours.delete()
    expect(await rig.client.exists(keys.ownValue, keys.ownPermits)).toBe(0)
    expect(await rig.client.exists(`{${name}}:value:java`)).toBe(1)
  })
})
