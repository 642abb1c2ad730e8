import { expect, test, vi } from "vitest"
import { createLimiter } from "./create-limiter.js"
import { tokenBucket } from "./policy.js"
import { shortcutOf } from "./shortcut.js"
import { scopeOf } from "./state-key.js"
import { memoryStore } from "./stores/memory/memory-store.js"

const policy = tokenBucket({ capacity: 10, refill: 1, every: "1h" })

test("is not taken past somebody who has put something before a store", async () => {
  const inner = memoryStore()
  const ask = vi.fn(inner.ask)
  const limiter = createLimiter({ policy, store: { ...inner, ask } })
  for (let i = 0; i < 3; i += 1) await limiter.tryAcquire("k")
  expect(ask).toHaveBeenCalledTimes(3)
})

test("is not taken past somebody who has put something in the place of a method", async () => {
  const store = memoryStore()
  const limiter = createLimiter({ policy, store })
  await limiter.tryAcquire("k")
  const ask = vi.spyOn(store, "ask")
  for (let i = 0; i < 3; i += 1) await limiter.tryAcquire("k")
  expect(ask).toHaveBeenCalledTimes(3)
})

test("is not taken by a limiter that is closed, or for what is no key", async () => {
  const limiter = createLimiter({ policy })
  await limiter.tryAcquire("k")
  for (const key of [undefined, null, 5, "", {}]) {
    await expect(limiter.tryAcquire(key as string)).rejects.toMatchObject({ code: "INVALID_KEY" })
  }
  await limiter.close()
  await expect(limiter.tryAcquire("k")).rejects.toMatchObject({ code: "CLOSED" })
})

test("leaves a cost that never fits to an ask, also of a key that is new", () => {
  const store = memoryStore()
  const charge = { name: "default", scope: scopeOf("api", "default"), key: "", policy, cost: 11 }
  expect(shortcutOf(store, [charge])?.("k")).toBeUndefined()
  expect(store.size).toBe(0)
})

test("counts long keys, of which a hash is kept, as any other", async () => {
  const limiter = createLimiter({ policy })
  const long = "x".repeat(200)
  for (let i = 0; i < 3; i += 1) await limiter.tryAcquire(long)
  expect(await limiter.tryAcquire(long)).toMatchObject({ remaining: 6 })
})

test("has a clock that fails reject, as an ask does", async () => {
  let now = 1_000
  const clock = () => {
    if (now < 0) throw new Error("no time")
    return now
  }
  const limiter = createLimiter({ policy, store: memoryStore({ clock }) })
  await limiter.tryAcquire("k")
  now = -1
  await expect(limiter.tryAcquire("k")).rejects.toMatchObject({ code: "INVALID_OPTION" })
})
