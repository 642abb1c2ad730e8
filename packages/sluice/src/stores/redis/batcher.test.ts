import { expect, test, vi } from "vitest"
import { microtask } from "../../deferred.js"
import { SluiceError } from "../../errors.js"
import { slidingLog, tokenBucket } from "../../policy.js"
import { policyRef } from "../../state-key.js"
import type { Coalesced } from "./batcher.js"
import { batcher, CallWindow } from "./batcher.js"
import type { LuaRequest } from "./protocol.js"

const bucket = tokenBucket({ capacity: 5, refill: 1, every: "1s" })
const log = slidingLog({ limit: 5, window: "1s" })
const request = (key: string, policy: LuaRequest["policies"][0]["policy"] = bucket): LuaRequest => ({
  policies: [{ ref: policyRef("n", "x"), key, policy, cost: 1 }],
  count: 1,
  mode: "spend",
})

/** A batcher whose calls end when the test says so. */
function rig(size: number) {
  const calls: { readonly batch: readonly Coalesced[]; readonly done: () => void }[] = []
  const waiting = { requests: 0 }
  let inFlight = 0
  const window = {
    hasRoom: () => inFlight < size,
    open() {
      inFlight += 1
    },
    close() {
      inFlight -= 1
    },
  }
  const send = batcher((batch, done) => calls.push({ batch, done }), window, waiting)
  const ask = async (...keys: string[]) => {
    for (const key of keys) send(request(key))
    await tick()
  }
  const end = async (call: number) => {
    calls[call]?.done()
    await tick()
  }
  const keysOf = () => calls.map(({ batch }) => batch.map(({ policies }) => policies[0]?.key))
  return {
    calls,
    ask,
    end,
    waiting,
    send,
    keysOf,
    sizes: () => calls.map(({ batch }) => batch.map(({ size }) => size)),
  }
}

const tick = () => new Promise<void>((resolve) => setImmediate(resolve))

test("requests of one tick share one call", async () => {
  const { ask, keysOf } = rig(4)
  await ask("a", "b", "c", "d", "e")
  expect(keysOf()).toEqual([["a", "b", "c", "d", "e"]])
})

test("requests that arrive while the window is full share the next call", async () => {
  const { ask, end, keysOf } = rig(1)
  await ask("a")
  await ask("b")
  await ask("c")
  expect(keysOf()).toEqual([["a"]])
  await end(0)
  expect(keysOf()).toEqual([["a"], ["b", "c"]])
})

test("equal requests become one with a count, unless another request of the key is between them", async () => {
  const { send, ask, end, sizes, keysOf } = rig(1)
  await ask("first")
  for (const key of ["a", "b", "a", "a"]) send(request(key))
  send({ ...request("a"), mode: "peek" })
  send(request("a"))
  await end(0)
  expect(keysOf()[1]).toEqual(["a", "b", "a", "a"])
  expect(sizes()[1]).toEqual([3, 1, 1, 1])
})

test("equal requests are merged however many keys are queued, but not with one already sent", async () => {
  const { ask, end, sizes, keysOf } = rig(1)
  await ask("first")
  await ask(...Array.from({ length: 250 }, (_, i) => `k${i}`))
  await end(0)
  await end(1)
  await ask("k249", "k249", "k0")
  await end(2)
  expect(keysOf().map((keys) => keys.length)).toEqual([1, 100, 100, 51])
  expect(sizes().at(-1)).toEqual([...new Array(49).fill(1), 3, 1])
})

test.each([
  ["100 buckets", bucket, 100],
  ["40 logs", log, 40],
])("a call holds at most %s", async (_what, policy, most) => {
  const { send, calls } = rig(64)
  for (let i = 0; i < 1_000; i += 1) send(request(`k${i}`, policy))
  await tick()
  expect(Math.max(...calls.map(({ batch }) => batch.length))).toBe(most)
})

test("a call holds fewer requests that book, and at least one", async () => {
  const { send, calls } = rig(64)
  for (let i = 0; i < 50; i += 1) send({ ...request(`k${i}`), mode: "book", count: [0, 1] })
  const policies = Array.from({ length: 64 }, (_, i) => ({
    ref: policyRef("n", `p${i}`),
    key: "wide",
    policy: log,
    cost: 1,
  }))
  send({ policies, mode: "spend", count: 1 })
  await tick()
  expect(calls.map(({ batch }) => batch.length)).toEqual([20, 20, 10, 1])
})

test("a request that cannot be scheduled is not queued, and later ones are sent", async () => {
  const { ask, waiting, keysOf } = rig(1)
  const then = vi.spyOn(microtask, "then").mockImplementationOnce(() => {
    throw new RangeError("Maximum call stack size exceeded")
  })
  await expect(ask("a")).rejects.toThrow(RangeError)
  expect(waiting.requests).toBe(0)
  await ask("b")
  expect(keysOf()).toEqual([["b"]])
  then.mockRestore()
})

test("a caller that is rejected and retries at once is sent again, and is not merged with a sent request", async () => {
  const waiting = { requests: 0 }
  const sent: string[] = []
  let refuses = true
  const send = batcher(
    (batch, done) => {
      for (const request of batch) {
        sent.push(request.policies[0]?.key ?? "")
        if (refuses) request.fail(new SluiceError("STORE_REFUSED", "no"))
        else request.answer({ granted: 1, levels: [[0]], at: 0 })
      }
      refuses = false
      done()
    },
    new CallWindow(),
    waiting,
  )
  const again = (key: string) => send(request(key)).then(undefined, () => send(request(key)))
  const replies = await Promise.all([again("a"), again("b")])
  expect(replies.map(({ granted }) => granted)).toEqual([1, 1])
  expect(sent).toEqual(["a", "b", "a", "b"])
  expect(waiting.requests).toBe(0)
})
