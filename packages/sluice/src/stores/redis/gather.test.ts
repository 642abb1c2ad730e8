import { expect, test } from "vitest"
import { SluiceError } from "../../errors.js"
import { tokenBucket } from "../../policy.js"
import { scopeOf } from "../../state-key.js"
import type { ScriptAsk } from "./call.js"
import { gather } from "./gather.js"

test("who is refused at once and asks again is sent again, and joins none that has left", async () => {
  const policy = tokenBucket({ capacity: 5, refill: 1, every: "1s" })
  const ask = (key: string): ScriptAsk => ({
    parts: [{ scope: scopeOf("n", "x"), key, policy, cost: 1 }],
    count: 1,
    mode: "spend",
  })
  const waiting = { asks: 0 }
  const sent: string[] = []
  let refuses = true
  const send = gather(
    (batch, over) => {
      for (const group of batch) {
        sent.push(group.parts[0]?.key ?? "")
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
  expect(waiting.asks).toBe(0)
})
