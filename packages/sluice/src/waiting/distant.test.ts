import { createLimiter, memoryStore, tokenBucket } from "sluice"
import { manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"
import { distantStore, type Errand, settled, whenTold } from "../../test/support/distant-store.js"

// Events while replies are in flight, and replies that arrive out of order.
const even = tokenBucket({ capacity: 1, refill: 1, every: 100 })

function setUp(options: object = {}) {
  const clock = manualClock()
  const baseStore = memoryStore({ clock })
  const store = distantStore(clock, whenTold, baseStore)
  const limiter = createLimiter({ policy: even, store, ...options })
  const direct = createLimiter({ policy: even, store: baseStore })
  const start = clock()
  const had: string[] = []
  const wait = (name: string, signal?: AbortSignal) => {
    limiter.acquire("k", { signal }).then(
      () => had.push(`${name}@${clock() - start}`),
      (error) => had.push(`${name} ${error.code ?? error.message ?? error}`),
    )
  }
  const errand = (i: number) => store.errands[i] as Errand
  const pass = async (ms: number) => {
    await settled()
    clock.advance(ms)
    await settled()
  }
  return { clock, store, limiter, direct, had, wait, errand, pass }
}

describe("turns of a remote store", () => {
  test("go to the first waiter, in whatever order they arrive", async () => {
    const { had, wait, errand, pass } = setUp()
    for (const name of ["a", "b", "c"]) wait(name)
    for (const i of [0, 1, 2]) errand(i).decide()
    errand(1).answer()
    await pass(0)
    errand(2).answer()
    await pass(0)
    errand(0).answer()
    await pass(0)
    expect(had).toEqual(["a@0"])
    await pass(100)
    await pass(100)
    expect(had).toEqual(["a@0", "b@100", "c@200"])
  })

  test("are timed from the arrival of the reply, so that no waiter wakes too soon", async () => {
    const { had, wait, errand, pass } = setUp()
    wait("a")
    wait("b")
    errand(0).answer()
    errand(1).decide()
    await pass(30)
    errand(1).answer()
    await pass(0)
    await pass(99)
    expect(had).toEqual(["a@0"])
    await pass(1)
    expect(had).toEqual(["a@0", "b@130"])
  })

  test("are given back if the waiter has aborted meanwhile", async () => {
    const { direct, had, wait, errand, store, pass } = setUp()
    const gaveUp = new AbortController()
    wait("a")
    errand(0).answer()
    await pass(0)
    wait("b", gaveUp.signal)
    errand(1).decide()
    gaveUp.abort("no")
    await pass(0)
    expect(had).toEqual(["a@0", "b no"])
    errand(1).answer()
    await pass(0)
    expect(store.errands[2]?.kind).toBe("leave")
    errand(2).answer()
    expect(await direct.peek("k")).toMatchObject({ retryAfter: 100 })
  })

  test("that fail reject one waiter and no other", async () => {
    const { had, wait, errand, pass } = setUp()
    for (const name of ["a", "b", "c"]) wait(name)
    errand(0).answer()
    errand(1).fail()
    errand(2).answer()
    await pass(0)
    await pass(100)
    expect(had).toEqual(["a@0", "b the store is out of reach", "c@100"])
  })

  test("leave the last waiter without a turn if one is refused and its waiter was served with the turn of another", async () => {
    const { had, wait, errand, pass } = setUp({ maxWait: 100 })
    wait("a")
    wait("b")
    wait("c")
    // c is decided first and gets the only turn now, b the next one, a none within 100 ms.
    errand(2).decide()
    errand(1).decide()
    errand(0).decide()
    errand(2).answer()
    await pass(0)
    expect(had).toEqual(["a@0"])
    errand(1).answer()
    errand(0).answer()
    await pass(0)
    expect(had).toEqual(["a@0", "c WAIT_TOO_LONG"])
    await pass(100)
    expect(had).toEqual(["a@0", "c WAIT_TOO_LONG", "b@100"])
  })

  test("stay the same for other waiters if the request of an aborted waiter is refused or fails", async () => {
    for (const end of ["refuse", "fail"] as const) {
      const { had, wait, errand, pass } = setUp({ maxWait: 100 })
      wait("a")
      errand(0).answer()
      await pass(0)
      const gaveUp = new AbortController()
      wait("b", gaveUp.signal)
      wait("c")
      // c is decided first and gets the only turn within 100 ms.
      errand(2).decide()
      errand(1).decide()
      gaveUp.abort("no")
      await pass(0)
      if (end === "refuse") errand(1).answer()
      else errand(1).fail()
      await pass(0)
      expect(had).toEqual(["a@0", "b no"])
      errand(2).answer()
      await pass(0)
      await pass(100)
      expect(had).toEqual(["a@0", "b no", "c@100"])
    }
  })

  test("are served without waiting for the replies to later waiters", async () => {
    const { had, wait, errand, pass } = setUp()
    const gaveUp = new AbortController()
    wait("a")
    wait("b")
    // a passes with the turn of b, and b waits for the turn of a.
    errand(1).answer()
    await pass(0)
    wait("c", gaveUp.signal)
    wait("d")
    gaveUp.abort("no")
    await pass(0)
    errand(0).fail()
    await pass(0)
    expect(had).toEqual(["a@0", "c no", "b the store is out of reach"])
    errand(3).answer()
    await pass(0)
    await pass(100)
    expect(had).toEqual(["a@0", "c no", "b the store is out of reach", "d@100"])
  })

  test("that cannot be given back are lost without an error", async () => {
    const { had, wait, errand, limiter, pass } = setUp()
    wait("a")
    wait("b")
    errand(0).answer()
    errand(1).answer()
    await pass(0)
    const closed = limiter.close()
    await pass(0)
    errand(2).fail()
    await closed
    expect(had).toEqual(["a@0", "b CLOSED"])
  })
})
