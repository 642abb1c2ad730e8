import { expect, test } from "vitest"
import { until } from "../../test/support/watched-clock.js"
import { discard } from "./discard.js"

/** A body of `chunks` chunks of 1,000 bytes. `seen` counts the chunks read, and notes whether the body was cancelled. */
function watched(chunks: number) {
  const seen = { read: 0, ended: false, cut: false }
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (seen.read === chunks) {
          seen.ended = true
          controller.close()
          return
        }
        seen.read += 1
        controller.enqueue(new Uint8Array(1_000))
      },
      cancel() {
        seen.cut = true
      },
    },
    { highWaterMark: 0 },
  )
  return { seen, body: body as NonNullable<Response["body"]> }
}

test("a short body is read to its end", async () => {
  const { seen, body } = watched(50)
  const stop = discard({ body })
  await until(() => seen.ended)
  stop()
  expect(seen).toEqual({ read: 50, ended: true, cut: false })
})

test("a long body is cancelled", async () => {
  const { seen, body } = watched(1_000_000)
  discard({ body })
  await until(() => seen.cut)
  expect(seen.read).toBe(66)
})

test("a body that has not ended is cancelled when the returned function is called", async () => {
  let cut = false
  const body = new ReadableStream({
    cancel() {
      cut = true
    },
  })
  const stop = discard({ body: body as NonNullable<Response["body"]> })
  await new Promise(setImmediate)
  expect(cut).toBe(false)
  stop()
  expect(cut).toBe(true)
})

test("a body that errors, is locked or is missing causes no error", async () => {
  const broken = new ReadableStream({
    pull() {
      throw new Error("reset")
    },
  })
  const read = new Response("text")
  const reader = read.body?.getReader()
  for (const body of [broken as NonNullable<Response["body"]>, read.body, null]) discard({ body })()
  await new Promise(setImmediate)
  expect((await reader?.read())?.value?.byteLength).toBe(4)
})
