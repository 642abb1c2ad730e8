import { Redis } from "ioredis"
import { describe, expect, test } from "vitest"
import { fixedWindow, type Policy, slidingLog, tokenBucket } from "../../policy.js"
import { type Place, scopeOf } from "../../state-key.js"
import type { Part } from "../../store.js"
import { encodeAsks, type SentAsk } from "./call.js"
import { glide } from "./clients/glide.js"
import { ioredis } from "./clients/ioredis.js"
import { nodeRedis } from "./clients/node-redis.js"
import { outcomeOf } from "./outcome.js"
import { RedisKeys } from "./redis-keys.js"
import { redisStore } from "./redis-store.js"
import { decodeAnswers } from "./reply.js"

describe("an error", () => {
  test.each([
    ["NOSCRIPT No matching script. Please use EVAL.", "unloaded"],
    ["READONLY You can't write against a read only replica. script: 5f, on @user_script:12.", "again"],
    ["LOADING Redis is loading the dataset in memory", "again"],
    ["BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", "again"],
    ["CLUSTERDOWN Hash slot not served", "again"],
    ["TRYAGAIN Multiple keys request during rehashing of slot", "again"],
    ["Stream isn't writeable and enableOfflineQueue options is false", "again"],
    ["The client is offline", "again"],
    ["OOM command not allowed when used memory > 'maxmemory'. script: 5f", "refused"],
    ["NOPERM this user has no permissions to run the 'evalsha' command", "refused"],
    ["WRONGTYPE Operation against a key holding the wrong kind of value", "refused"],
    ["The client is closed", "refused"],
    [
      "An error was signalled by the server: - NoScriptError: No matching script. Please use EVAL.",
      "unloaded",
    ],
    ["An error was signalled by the server: - TryAgain: Multiple keys request during rehashing", "again"],
    ["An error was signalled by the server: - constructor: x", "unknown"],
    ["OOM: command not allowed when used memory > 'maxmemory'. script: 5f", "refused"],
    ["Reached maximum inflight requests- ClientError", "again"],
    ["Standalone connect failed - IoError: Received error for address `127.0.0.1:1`: WRONGPASS", "again"],
    ["Unable to execute requests; the client is closed. Please create a new client.", "refused"],
    ["timed out", "unknown"],
    ["Socket closed unexpectedly", "unknown"],
    ["Connection is closed.", "unknown"],
    ["Command timed out", "unknown"],
    ["ERR user_script:7: attempt to index a nil value", "unknown"],
    ["constructor", "unknown"],
    ["", "unknown"],
  ])("that says %j means %s", (message, outcome) => {
    expect(outcomeOf(new Error(message))).toBe(outcome)
  })

  test("of a connection that was refused means that nothing ran, and no error at all means nothing", () => {
    expect(outcomeOf(Object.assign(new Error("connect"), { code: "ECONNREFUSED" }))).toBe("again")
    expect(outcomeOf(Object.assign(new Error("read"), { code: "ECONNRESET" }))).toBe("unknown")
    expect(outcomeOf("NOSCRIPT")).toBe("unknown")
  })
})

test("what a Cluster of ioredis rejects at once it never sent, and what it rejects later may have run", async () => {
  const closed = () => Promise.reject(new Error("Connection is closed."))
  const outcomeWith = (isCluster: boolean, evalsha: () => Promise<unknown>, status = "ready") =>
    ioredis({ isCluster, status, evalsha, eval: evalsha }).runByHash("", [], []).catch(outcomeOf)
  expect(await outcomeWith(true, closed)).toBe("again")
  expect(await outcomeWith(true, closed, "end")).toBe("refused")
  expect(await outcomeWith(true, () => Promise.resolve().then(closed))).toBe("unknown")
  expect(await outcomeWith(true, () => Promise.reject(new Error("Command timed out")))).toBe("unknown")
  expect(await outcomeWith(false, closed)).toBe("unknown")
})

const policy = fixedWindow({ limit: 5, window: 1 })
const ask = (key: string, cost = 1, follows = false): SentAsk => ({
  parts: [{ scope: scopeOf("n", "default"), key, policy, cost }],
  count: 1,
  mode: "spend",
  follows,
})

const byKey = { of: ({ key }: Part) => key, note: ({ key }: Place, name: string) => key + name }

describe("a call", () => {
  test("sends a plan once for all asks that share it", () => {
    const peeks = [ask("a"), ask("b"), ask("a", 2, true)].map((ask): SentAsk => ({ ...ask, mode: "peek" }))
    expect(encodeAsks(byKey, "7", peeks)).toMatchObject({
      keys: ["a", "b", "a"],
      args: [
        "7",
        `[${[1, 2].map((cost) => `["peek",1,"fixedWindow",{"limit":5,"window":1000,"aligned":0,"cost":${cost}}]`)}]`,
        "[1,1,2]",
        "1",
      ],
    })
  })

  test("that looks back says where it is noted when its parts were forgotten, before what it notes itself", () => {
    const keysOf = (mode: SentAsk["mode"], note?: SentAsk["note"]) =>
      encodeAsks(byKey, "7", [{ ...ask("a"), mode, note }]).keys
    for (const mode of ["spend", "peek", "charge"] as const) expect(keysOf(mode)).toEqual(["a"])
    for (const mode of ["give", "forget"] as const) expect(keysOf(mode)).toEqual(["a", "a:fg"])
    const note = { key: "a:rs", place: ask("a").parts[0] as Part }
    for (const mode of ["reserve", "settle"] as const)
      expect(keysOf(mode, note)).toEqual(["a", "a:fg", "a:rs"])
  })

  test("says so when a key comes twice", () => {
    const argsOf = (...asks: SentAsk[]) => encodeAsks(byKey, "7", asks).args.slice(2)
    const peek = (...of: Parameters<typeof ask>): SentAsk => ({ ...ask(...of), mode: "peek" })
    expect(argsOf(peek("a"), peek("b", 2))).toEqual(["[1,2]"])
    expect(argsOf(peek("a"), peek("a", 1, true))).toEqual(["[1,1]", "1"])
    expect(argsOf(ask("a"), ask("a", 1, true))).toEqual(["\u0010\u0001\u0001", "1", "5", "1000", "0"])
  })

  test("sends the terms of plain asks that are alike one by one as well", () => {
    const argsOf = (...asks: SentAsk[]) => encodeAsks(byKey, "7", asks).args.slice(2)
    const terms = ["1", "5", "1000", "0"]
    expect(argsOf(ask("a"), ask("b"))).toEqual(["", ...terms])
    expect(argsOf({ ...ask("a", 2), count: 3 })).toEqual(["", "6", "5", "1000", "0"])
    expect(argsOf({ ...ask("a"), mode: "peek" })).toEqual([""])
    const bucketOf = (policy: Policy) => ({ ...ask("a").parts[0], policy }) as Part
    const whole = bucketOf(tokenBucket({ capacity: 2, refill: 1, every: 1 }))
    expect(argsOf({ ...ask("a"), parts: [whole] })).toEqual(["", "1000", "2000", "1", "2"])
    // each behind its algorithm and its label, if they differ in how they are kept
    const another = { ...whole, scope: scopeOf("m", "default") }
    expect(argsOf({ ...ask("a"), parts: [...ask("a").parts, another] })).toEqual([
      "",
      ...["fixedWindow", "", ...terms],
      ...["bucket", "", "1000", "2000", "1", "2"],
    ])
    // in thirds of a microsecond
    const parted = bucketOf(tokenBucket({ capacity: 2, refill: 3, every: 1 }))
    expect(argsOf({ ...ask("a"), parts: [parted] })).toEqual(["", "1000", "2000", "3", "1"])
    // with the length of a step, and how long they are remembered
    const stepwise = bucketOf(tokenBucket({ capacity: 2, refill: 1, every: 1, mode: "interval" }))
    expect(argsOf({ ...ask("a"), parts: [stepwise] })).toEqual(["", "1000", "2000", "1", "2", "1000", "2000"])
    // in more pieces than a number can tell apart
    const fine = bucketOf(tokenBucket({ capacity: 1_000_000, refill: 999_983, every: "1d" }))
    expect(argsOf({ ...ask("a"), parts: [fine] })).toEqual([""])
  })

  test("sends the labels of plain asks too whose policies share a record", () => {
    const names = new RedisKeys("p")
    const argsOf = (...parts: Part[]) => encodeAsks(names, "7", [{ ...ask("a"), parts }]).args.slice(2)
    const named = (name: string, key = "a", cost = 1): Part => ({
      scope: scopeOf("n", name),
      key,
      policy,
      cost,
    })
    const terms = ["1", "5", "1000", "0"]
    expect(argsOf(named("x"))).toEqual(["", "x:fw", ...terms])
    expect(argsOf(named("x"), named("y", "a", 2))).toEqual([
      "",
      "x:fw",
      ...terms,
      "y:fw",
      "2",
      "5",
      "1000",
      "0",
    ])
    // of a record and a key, but not of two records, nor of the same place twice
    expect(argsOf(named("x"), named("default"))).toEqual([
      "",
      ...["fixedWindow", "x:fw", ...terms],
      ...["fixedWindow", "", ...terms],
    ])
    expect(argsOf(named("x"), named("y", "b"))).toEqual([""])
    expect(argsOf(named("x"), named("x"))).toEqual([""])
    // lists have keys of their own
    const log = slidingLog({ limit: 5, window: 1 })
    const logged = (name: string) => ({ ...named(name), policy: log })
    expect(argsOf(logged("x"), logged("y"))).toEqual(["", "1", "5", "1000", "1", "1", "5", "1000", "1"])
  })

  test("sends the counts of plain asks that differ in them only, a byte each", () => {
    const argsOf = (...counts: number[]) =>
      encodeAsks(
        byKey,
        "7",
        counts.map((count, i) => ({ ...ask(`k${i}`), count })),
      ).args.slice(1)
    const plan = (count: number) =>
      `["spend",${count},"fixedWindow",{"limit":5,"window":1000,"aligned":0,"cost":1}]`
    expect(argsOf(1, 3, 127)).toEqual([`[${plan(1)}]`, "\0\u0001\u0003\u007f", "1", "5", "1000", "0"])
    expect(argsOf(2, 2)).toEqual([`[${plan(2)}]`, "", "2", "5", "1000", "0"])
    // what is no byte in every encoding
    expect(argsOf(1, 128)).toEqual([`[${plan(1)},${plan(128)}]`, "[1,2]"])
  })

  test("sends the costs of plain asks that differ in them, in as many digits each, beside the terms of a cost of 1", () => {
    const argsOf = (limit: number, ...costs: number[]) => {
      const own = fixedWindow({ limit, window: 1 })
      const asks = costs.map((cost, i) => {
        const { parts, ...rest } = ask(`k${i}`, cost)
        return { ...rest, parts: parts.map((part) => ({ ...part, policy: own })) }
      })
      return encodeAsks(byKey, "7", asks).args.slice(2)
    }
    const terms = (limit: number) => ["1", `${limit}`, "1000", "0"]
    expect(argsOf(5, 1, 3)).toEqual(["\u0001\u0001\u0001\u0001\u0003", ...terms(5)])
    expect(argsOf(128, 2, 128)).toEqual(["\u0002\u0001\u0001\0\u0002\u0001\0", ...terms(128)])
    expect(argsOf(1e12, 1e12, 127)[0]).toHaveLength(1 + 2 + 2 * 6)
    // more than is ever granted
    expect(argsOf(5, 1, 6)).toEqual(["[1,2]"])
  })

  test("is not taken for one whose parts were of other keys", () => {
    const names = new RedisKeys("p")
    const named = (name: string, key: string): Part => ({ scope: scopeOf("n", name), key, policy, cost: 1 })
    const callOf = (first: string, second: string) =>
      encodeAsks(names, "", [{ ...ask("a"), parts: [named("x", first), named("y", second)] }])
    const [apart, together] = [callOf("a", "b"), callOf("a", "a")]
    expect(apart.keys).toHaveLength(2)
    expect(together.keys).toHaveLength(1)
    expect(together.args).not.toEqual(apart.args)
    expect(callOf("c", "c").args).toEqual(together.args)
    expect(callOf("c", "d").args).toEqual(apart.args)
    expect(callOf("d", "d").args).toEqual(together.args)
  })

  test("understands integers in any dress and nothing else", () => {
    const answer = [{ granted: 1, levels: [[2, 500]], at: 7 }]
    for (const reply of [
      [7, 2, 500],
      ["7", "2", "500"],
      [7n, 2n, 500n],
      [Buffer.from("7"), 2, Buffer.from("500")],
    ]) {
      expect(decodeAnswers([ask("k")], reply)).toEqual(answer)
    }
    for (const reply of [[7, 2], [7, 2, 500, 0], [7, 2, null], [7, 2, 0.5], [7, 2, "x"], null, "OK"]) {
      expect(() => decodeAnswers([ask("k")], reply)).toThrow(/from Redis/)
    }
  })

  test("takes what no state can have come to for the error of one ask", () => {
    const answers = decodeAnswers(
      [ask("a"), ask("b"), ask("c")],
      [7, 2 ** 60, 1, ["user_script:1: oh"], 1, 2],
    )
    expect(answers).toEqual([
      new Error(
        `UNREADABLE what is stored under this key is no state of its policy, reset it: it makes ${2 ** 60}`,
      ),
      new Error(
        "UNREADABLE what is stored under this key is no state of its policy, reset it: user_script:1: oh",
      ),
      { granted: 1, levels: [[1, 2]], at: 7 },
    ])
  })

  test("tells what was denied from its sign, and how many of several passed from what follows", () => {
    const asks = [ask("a"), { ...ask("b"), count: 4 }, { ...ask("c"), count: 2 }]
    expect(decodeAnswers(asks, [7, -4, 500, 0, -6, 400, 0, 3, 2, 300])).toEqual([
      { granted: 0, levels: [[3, 500, 0]], at: 7 },
      { granted: 3, levels: [[5, 400, 0]], at: 7 },
      { granted: 2, levels: [[2, 300]], at: 7 },
    ])
  })
})

describe("redisStore", () => {
  const client = ioredis(new Redis({ lazyConnect: true }))

  test.each([
    [{ prefix: "" }, "prefix must be a string without braces"],
    [{ prefix: "a{b}" }, "prefix must be a string without braces"],
    [{ clock: 7 }, "clock must be a function"],
    [{ retryFor: "soon" }, "retryFor must be whole milliseconds"],
    [{ keyPrefix: "x" }, 'redisStore has no field "keyPrefix"; it takes prefix, clock, denyCache, retryFor'],
  ])("refuses %o", (options, message) => {
    expect(() => redisStore(client, options as never)).toThrow(message)
  })

  test("refuses a client without its adapter", () => {
    expect(() => redisStore({ get() {} } as never)).toThrow(
      "redisStore takes ioredis(client), nodeRedis(client) or glide(client)",
    )
    expect(() => redisStore(new Redis({ lazyConnect: true }) as never)).toThrow(
      "redisStore takes ioredis(client)",
    )
    expect(() => redisStore(undefined as never)).toThrow("got undefined")
  })

  test("refuses a client of another adapter, and says which", () => {
    const redis = new Redis({ lazyConnect: true }) as never
    expect(() => nodeRedis(redis)).toThrow(
      "nodeRedis takes a client with evalSha and eval, got an object; this looks like a client for ioredis(client)",
    )
    expect(() => glide(redis)).toThrow(/^glide takes a client with customCommand.*for ioredis\(client\)$/)
    const other = { evalSha() {}, eval() {} } as never
    expect(() => ioredis(other)).toThrow(/^ioredis takes a client with evalsha.*for nodeRedis\(client\)$/)
    expect(() => ioredis({ customCommand() {} } as never)).toThrow("for glide(client)")
    for (const nothing of [undefined, null, "redis://localhost", {}] as never[]) {
      expect(() => ioredis(nothing)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }))
    }
  })
})
