import { createLimiter, fixedWindow, memoryStore } from "sluice"
import { manualClock } from "sluice/testing"
import { expect, test } from "vitest"
import { type Piece, payForStream, Refused } from "../../../../examples/pay-for-stream.js"

const BUDGET = 1_000
const ESTIMATE = 100

function setUp() {
  const policy = {
    requests: fixedWindow({ limit: 1_000, window: "1m" }),
    tokens: fixedWindow({ limit: BUDGET, window: "1m" }),
  }
  const limiter = createLimiter({ policy, store: memoryStore({ clock: manualClock() }) })
  const spent = async () => BUDGET - ((await limiter.peek("k")).policies?.[1]?.remaining ?? 0)
  return { limiter, spent }
}

async function* tokens(count: number): AsyncGenerator<Piece> {
  for (let i = 0; i < count; i += 1) yield { text: "word ", tokens: 1 }
  yield { total: count }
}

test("a client that disconnects one token before the end pays for the streamed tokens", async () => {
  const { limiter, spent } = setUp()
  let served = 0
  for (let i = 0; i < 900; i += 1) {
    const reservation = await limiter.reserve("k", { cost: { requests: 1, tokens: ESTIMATE } })
    if (!reservation.decision.allowed) continue
    let got = 0
    const send = () => {
      got += 1
      served += 1
      if (got === 99) throw new Error("the client has disconnected")
    }
    await payForStream(reservation, tokens(100), send).catch(() => {})
  }
  expect(served).toBeLessThanOrEqual(BUDGET)
  expect(await spent()).toBe(served)
})

test("a call that the model rejects costs nothing", async () => {
  const { limiter, spent } = setUp()
  const reservation = await limiter.reserve("k", { cost: { requests: 1, tokens: ESTIMATE } })
  // biome-ignore lint/correctness/useYield: it fails before the first piece
  const refused = (async function* (): AsyncGenerator<Piece> {
    throw new Refused("503")
  })()
  await expect(payForStream(reservation, refused, () => {})).rejects.toThrow("503")
  expect(await spent()).toBe(0)
})

test("a call with an unknown number of generated tokens costs its estimate", async () => {
  const { limiter, spent } = setUp()
  const reservation = await limiter.reserve("k", { cost: { requests: 1, tokens: ESTIMATE } })
  // biome-ignore lint/correctness/useYield: it fails before the first piece
  const broken = (async function* (): AsyncGenerator<Piece> {
    throw new Error("socket hang up")
  })()
  await expect(payForStream(reservation, broken, () => {})).rejects.toThrow("socket hang up")
  expect(await spent()).toBe(ESTIMATE)
})
