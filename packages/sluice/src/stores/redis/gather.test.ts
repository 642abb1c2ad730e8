import { expect, test, vi } from "vitest"
import { SluiceError } from "../../errors.js"
import { soon } from "../../later.js"
import { tokenBucket } from "../../policy.js"
import { scopeOf } from "../../state-key.js"
import { stretchAtHand } from "../../stretch.js"
import type { ScriptAsk } from "./call.js"
import { gather } from "./gather.js"
import type { Group } from "./group.js"

const policy = tokenBucket({ capacity: 5, refill: 1, every: "1s" })
const ask = (key: string): ScriptAsk => ({
  parts: [{ scope: scopeOf("n", "x"), key, policy, cost: 1 }],
  count: 1,
  mode: "spend",
})

/** Gathers asks into calls that end when the test says so. */
function rig(calls: number) {
  const left: { readonly batch: readonly Group[]; readonly over: () => void }[] = []
  const waiting = { asks: 0 }
  const send = gather((batch, over) => left.push({ batch, over }), calls, waiting)
  /** Asks for keys, and lets calls leave. */
  const asks = async (...keys: string[]) => {
    for (const key of keys) send(ask(key))
    await turn()
  }
  const over = async (call: number) => {
    left[call]?.over()
    await turn()
  }
  return { left, asks, over, waiting, sizes: () => left.map(({ batch }) => batch.map(({ size }) => size)) }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

test("equal asks find each other however many keys have passed", async () => {
  const { asks, over, sizes } = rig(1)
  await asks("first")
  // the last twelve of them wait on when all else has left
  await asks(...Array.from({ length: 1_100 }, (_, i) => `k${i}`))
  for (let call = 0; call < 17; call += 1) await over(call)
  await asks("k1088", "k1099", "k1099", "k0")
  await over(17)
  expect(sizes().at(-1)).toEqual([2, ...new Array(10).fill(1), 3, 1])
})

test("calls are free again in whatever order they end", async () => {
  const { asks, over, sizes } = rig(2)
  await asks("a", "b", "c", "d")
  await over(0)
  await over(1)
  await asks("a", "b", "c", "d")
  await over(3)
  await over(2)
  await asks("a", "b", "c", "d")
  expect(sizes()).toEqual(new Array(6).fill([1, 1]))
})

test("a call counts from when the code that asks for it lets others run", async () => {
  const { left, asks } = rig(1)
  const clock = vi.spyOn(performance, "now").mockReturnValue(1_000)
  const asked = asks("a")
  clock.mockReturnValue(3_000)
  await asked
  await asks("b")
  expect(left.map(({ batch }) => batch[0]?.sentAt)).toEqual([3_000])
  clock.mockRestore()
})

test("an ask that fails to be scheduled is not made, and those behind it are: a caller has used the stack up", async () => {
  const { left, asks, waiting } = rig(1)
  stretchAtHand()
  const then = vi.spyOn(soon, "then").mockImplementationOnce(() => {
    throw new RangeError("Maximum call stack size exceeded")
  })
  await expect(asks("a")).rejects.toThrow(RangeError)
  expect(waiting.asks).toBe(0)
  await asks("b")
  expect(left.map(({ batch }) => batch.map(({ parts }) => parts[0]?.key))).toEqual([["b"]])
  then.mockRestore()
})

test("a call that was given up makes room for one other, and for none when it ends after all", async () => {
  const { left, asks, over } = rig(1)
  const clock = vi.spyOn(performance, "now").mockReturnValue(1_000)
  await asks("a")
  await asks("b")
  expect(left.length).toBe(1)
  clock.mockReturnValue(2_001)
  await asks("c")
  expect(left.length).toBe(2)
  await asks("d")
  await over(0)
  expect(left.length).toBe(2)
  await over(1)
  expect(left.length).toBe(3)
  clock.mockRestore()
})

test("who is refused at once and asks again is sent again, and joins none that has left", async () => {
  const waiting = { asks: 0 }
  const sent: string[] = []
  const sentAt: number[] = []
  let refuses = true
  const send = gather(
    (batch, over) => {
      for (const group of batch) {
        sent.push(group.parts[0]?.key ?? "")
        sentAt.push(group.sentAt)
        if (refuses) group.fail(new SluiceError("STORE_REFUSED", "no"))
        else group.answer({ granted: 1, levels: [[0]], at: 0 })
      }
      refuses = false
      over()
    },
    4,
    waiting,
  )
  const again = (key: string) => send(ask(key)).then(undefined, () => send(ask(key)))
  const answers = await Promise.all([again("a"), again("b")])
  expect(answers.map(({ granted }) => granted)).toEqual([1, 1])
  expect(sent).toEqual(["a", "b", "a", "b"])
  // or a call would never be overdue, and never tired of being sent again
  expect(sentAt.every(Number.isFinite)).toBe(true)
  expect(waiting.asks).toBe(0)
})
