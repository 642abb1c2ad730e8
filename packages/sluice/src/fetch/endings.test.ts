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
  test("before a call takes no turn", async () => {
    const server = await upstream({})
    const fetch = limited()
    await expect(fetch(server.url, { signal: AbortSignal.abort("early") })).rejects.toBe("early")
    expect(await fetch.limiter.peek(server.host)).toMatchObject({ remaining: 1_000 })
  })

  test("while it waits for its turn gives the turn to the next", async () => {
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

  test("while it is held back takes no turn", async () => {
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

  test("before a retry ends the call, and nothing is sent any more", async () => {
    const server = await upstream(later)
    const abort = new AbortController()
    const gone = limited()(server.url, { signal: abort.signal })
    await until(() => rig.clock.waiting === 1)
    abort.abort("no more")
    await expect(gone).rejects.toBe("no more")
    rig.clock.advance(60_000)
    expect(server.requests).toHaveLength(1)
  })

  test("while it waits to be sent again releases the connection of the answer", async () => {
    const server = await upstream({ ...later, body: (response) => response.write("x") })
    const abort = new AbortController()
    const gone = limited()(server.url, { signal: abort.signal })
    await until(() => rig.clock.waiting === 1)
    expect(server.requests[0]?.socket.destroyed).toBe(false)
    abort.abort("no more")
    await expect(gone).rejects.toBe("no more")
    await until(() => server.requests[0]?.socket.destroyed === true)
  })

  test("while it is under way is the business of fetch", async () => {
    const server = await upstream({ body: (response) => response.write("x") })
    const abort = new AbortController()
    const answer = await limited()(server.url, { signal: abort.signal })
    abort.abort()
    await expect(answer.text()).rejects.toMatchObject({ name: "AbortError" })
  })

  test("is not heard if the signal of a Request is taken away", async () => {
    const server = await upstream({})
    const request = new Request(server.url, { signal: AbortSignal.abort() })
    expect((await limited()(request, { signal: null })).status).toBe(200)
  })
})

describe("close", () => {
  test("ends those who wait for a turn, are held back, or wait to be sent again", async () => {
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

  test("lets what was sent be answered, and does not send it again", async () => {
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
        const answer = await globalThis.fetch(...call)
        await fetch.close()
        return answer
      },
    })
    const answer = await fetch(`${server.url}path`)
    release()
    expect([answer.status, await answer.text()]).toEqual([429, "/path"])
  })

  test("resolves when the store knows of the holds", async () => {
    const server = await upstream(later)
    const memory = memoryStore({ clock: rig.clock })
    let tell = () => {}
    const ask: Store["ask"] = (question) => {
      if (question.count === 1) return memory.ask(question)
      return new Promise((resolve) => {
        tell = () => resolve(memory.ask(question))
      })
    }
    const fetch = limited({ retries: 0 }, { store: { ...memory, ask } })
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

  test("is what a fetch that goes out of scope does", async () => {
    const server = await upstream({})
    const kept = limited()
    {
      await using fetch = kept
      await fetch(server.url)
    }
    await expect(kept(server.url)).rejects.toMatchObject({ code: "CLOSED" })
  })
})
