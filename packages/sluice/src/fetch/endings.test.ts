import { getEventListeners } from "node:events"
import { describe, expect, test } from "vitest"
import { fetching } from "../../test/support/fetching.js"
import type { Reply } from "../../test/support/upstream.js"
import { until } from "../../test/support/watched-clock.js"
import { fixedWindow } from "../policy.js"
import type { Store } from "../store.js"
import { memoryStore } from "../stores/memory/memory-store.js"

const rig = fetching()
const { upstream, limited } = rig

const later: Reply = { status: 429, headers: { "retry-after": 30 }, body: "busy" }
const oneAMinute = { policy: fixedWindow({ limit: 1, window: "1m" }) }

const listeners = (signal: AbortSignal) => getEventListeners(signal, "abort").length

describe("an abort", () => {
  test("an abort before the call takes no turn", async () => {
    const server = await upstream({})
    const fetch = limited()
    await expect(fetch(server.url, { signal: AbortSignal.abort("early") })).rejects.toBe("early")
    expect(await fetch.limiter.peek(server.host)).toMatchObject({ remaining: 1_000 })
  })

  test("an abort while a call waits for its turn gives the turn to the next call", async () => {
    const server = await upstream({})
    const fetch = limited({}, oneAMinute)
    await fetch(server.url)
    const abort = new AbortController()
    const gone = fetch(server.url, { signal: abort.signal })
    await until(() => rig.clock.waiting === 1)
    abort.abort("no more")
    await expect(gone).rejects.toBe("no more")
    expect(listeners(abort.signal)).toBe(0)
    const next = fetch(server.url)
    await until(() => rig.clock.waiting === 1)
    rig.clock.advance(60_000)
    expect((await next).status).toBe(200)
    expect(server.requests).toHaveLength(2)
  })

  test("an abort during a hold takes no turn", async () => {
    const server = await upstream(later)
    const fetch = limited({ retries: 0 })
    await fetch(server.url)
    const abort = new AbortController()
    const gone = fetch(new Request(server.url, { signal: abort.signal }))
    const stays = fetch(server.url)
    await until(() => rig.clock.waiting === 2)
    abort.abort()
    await expect(gone).rejects.toMatchObject({ name: "AbortError" })
    expect(rig.clock.waiting).toBe(1)
    expect(await fetch.limiter.peek(server.host)).toMatchObject({ remaining: 999 })
    rig.clock.advance(31_001)
    await stays
    expect(await fetch.limiter.peek(server.host)).toMatchObject({ remaining: 998 })
  })

  test("an abort before a retry rejects the call, and no retry is sent", async () => {
    const server = await upstream(later)
    const abort = new AbortController()
    const gone = limited()(server.url, { signal: abort.signal })
    await until(() => rig.clock.waiting === 1)
    abort.abort("no more")
    await expect(gone).rejects.toBe("no more")
    rig.clock.advance(60_000)
    expect(server.requests).toHaveLength(1)
  })

  test("an abort during the backoff releases the connection of the response", async () => {
    const server = await upstream({ ...later, body: (response) => response.write("x") })
    const abort = new AbortController()
    const gone = limited()(server.url, { signal: abort.signal })
    await until(() => rig.clock.waiting === 1)
    expect(server.requests[0]?.socket.destroyed).toBe(false)
    abort.abort("no more")
    await expect(gone).rejects.toBe("no more")
    await until(() => server.requests[0]?.socket.destroyed === true)
  })

  test("an abort after the request was sent is left to fetch", async () => {
    const server = await upstream({ body: (response) => response.write("x") })
    const abort = new AbortController()
    const reply = await limited()(server.url, { signal: abort.signal })
    abort.abort()
    await expect(reply.text()).rejects.toMatchObject({ name: "AbortError" })
  })

  test("an abort is ignored if `signal: null` removes the signal of a Request", async () => {
    const server = await upstream({})
    const request = new Request(server.url, { signal: AbortSignal.abort() })
    expect((await limited()(request, { signal: null })).status).toBe(200)
  })
})

describe("close", () => {
  test("close rejects calls that wait for a turn, for a hold or for a retry", async () => {
    const servers = await Promise.all([upstream({}), upstream(later), upstream({})])
    const [free, busy] = servers
    const fetch = limited({}, oneAMinute)
    await fetch(free.url)
    const waiting = fetch(free.url)
    const retrying = fetch(busy.url)
    await until(() => rig.clock.waiting === 2)
    const held = fetch(busy.url)
    await until(() => rig.clock.waiting === 3)
    const ends = Promise.allSettled([waiting, retrying, held])
    await fetch.close()
    const closed = { status: "rejected", reason: { code: "CLOSED" } }
    expect(await ends).toMatchObject([closed, closed, closed])
    await expect(fetch(free.url)).rejects.toMatchObject({ code: "CLOSED" })
    await expect(fetch(busy.url)).rejects.toMatchObject({ code: "CLOSED" })
  })

  test("after close, requests already sent get their responses and are not retried", async () => {
    let release = () => {}
    const server = await upstream((request) => ({
      ...later,
      body: (response) => {
        release = () => response.end(request.path)
        response.flushHeaders()
      },
    }))
    const fetch = limited({
      async fetch(...call) {
        const reply = await globalThis.fetch(...call)
        await fetch.close()
        return reply
      },
    })
    const answer = await fetch(`${server.url}path`)
    release()
    expect([answer.status, await answer.text()]).toEqual([429, "/path"])
  })

  test("close resolves after the holds are written to the store", async () => {
    const server = await upstream(later)
    const memory = memoryStore({ clock: rig.clock })
    let tell = () => {}
    const request: Store["decide"] = (question) => {
      if (question.count === 1) return memory.decide(question)
      return new Promise((resolve) => {
        tell = () => resolve(memory.decide(question))
      })
    }
    const fetch = limited({ retries: 0 }, { store: { ...memory, decide: request } })
    await fetch(server.url)
    let closed = false
    const closing = fetch.close().then(() => {
      closed = true
    })
    await new Promise(setImmediate)
    expect(closed).toBe(false)
    tell()
    await closing
  })

  test("a fetch declared with `await using` is closed at the end of its scope", async () => {
    const server = await upstream({})
    const kept = limited()
    {
      await using fetch = kept
      await fetch(server.url)
    }
    await expect(kept(server.url)).rejects.toMatchObject({ code: "CLOSED" })
  })
})
