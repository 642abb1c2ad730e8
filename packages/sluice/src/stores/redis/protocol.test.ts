import { describe, expect, test } from "vitest"
import { fixedWindow, type Policy, slidingLog, tokenBucket } from "../../policy.js"
import { policyRef, type StateRef } from "../../state-key.js"
import type { PolicyRequest } from "../../store.js"
import { decodeReply, encodeCall, type QueuedRequest } from "./protocol.js"

const policy = fixedWindow({ limit: 5, window: 1 })
const request = (key: string, cost = 1, repeatsKey = false): QueuedRequest => ({
  policies: [{ ref: policyRef("n", "default"), key, policy, cost }],
  count: 1,
  mode: "spend",
  repeatsKey,
})
const under = (policy: Policy, cost = 1): PolicyRequest => ({
  ref: policyRef("n", "p"),
  key: "k",
  policy,
  cost,
})
const byKey = {
  of: ({ key }: PolicyRequest) => key,
  note: ({ key }: StateRef, suffix: string) => `${key}:${suffix}`,
}
const plan = '["spend","fixed_window",{"limit":5,"window":1000,"aligned":0}]'

describe("a call", () => {
  test("lists nothing for equal requests of cost 1, and sends their plan once", () => {
    expect(encodeCall(byKey, "7", [request("a"), request("b")])).toEqual({
      keys: ["a", "b"],
      args: ["7", "", "", plan],
    })
  })

  test("lists plan, count and costs of every request as soon as one differs", () => {
    const requests = [request("a"), { ...request("b"), count: 3 }, request("c", 2)]
    expect(encodeCall(byKey, "", requests).args).toEqual(["", "", "[1,1,1,1,3,1,1,1,2]", plan])
  })

  test("sends each plan once", () => {
    const log = { ...request("b"), policies: [under(slidingLog({ limit: 7, window: 2 }))] }
    const peek = { ...request("c"), mode: "peek" as const }
    expect(encodeCall(byKey, "", [request("a"), log, peek, request("d")]).args).toEqual([
      "",
      "",
      "[1,1,1,2,1,1,3,1,1,1,1,1]",
      plan,
      '["spend","log",{"limit":7,"window":2000,"merge":1}]',
      '["peek","fixed_window",{"limit":5,"window":1000,"aligned":0}]',
    ])
  })

  test("sends a cost above twice the limit as twice the limit", () => {
    expect(encodeCall(byKey, "", [request("a", 1_000)]).args[2]).toBe("[1,1,10]")
  })

  test("sends fractions, steps and the queue of a bucket only where it has them", () => {
    const sent = (policy: Policy) =>
      JSON.parse(encodeCall(byKey, "", [{ ...request("a"), policies: [under(policy)] }]).args[3] as string)[2]
    expect(sent(tokenBucket({ capacity: 2, refill: 1, every: 1 }))).toEqual({
      span: 2_000,
      reach: 2,
      one: 1_000,
    })
    expect(sent(tokenBucket({ capacity: 2, refill: 3, every: 1 }))).toEqual({
      span: 666,
      reach: 1,
      one: 333,
      parts: 3,
      span_part: 2,
      one_part: 1,
    })
    expect(sent(tokenBucket({ capacity: 2, refill: 1, every: 1, mode: "interval" }))).toMatchObject({
      step: 1_000,
      life: 2_000,
    })
  })

  test("sends a plan of its own for each cost that Lua could not multiply exactly", () => {
    const fine = tokenBucket({ capacity: 1_000_000, refill: 999_983, every: "1d" })
    const requests = [1, 2].map((cost) => ({ ...request("a"), policies: [under(fine, cost)] }))
    const { args } = encodeCall(byKey, "", requests)
    expect(args[2]).toBe("[1,1,1,2,1,1]")
    expect(args).toHaveLength(5)
  })

  test("names the keys of resets, and of the request's own note, behind those of the states", () => {
    const keysOf = (mode: QueuedRequest["mode"], note?: QueuedRequest["note"]) =>
      encodeCall(byKey, "7", [{ ...request("a"), mode, note }]).keys
    for (const mode of ["spend", "peek", "charge"] as const) expect(keysOf(mode)).toEqual(["a"])
    for (const mode of ["give", "forget"] as const) expect(keysOf(mode)).toEqual(["a", "a:fg"])
    const note = { key: "a:rs", stateRef: request("a").policies[0] as PolicyRequest }
    for (const mode of ["reserve", "settle"] as const)
      expect(keysOf(mode, note)).toEqual(["a", "a:fg", "a:rs"])
  })

  test("has a flag if a key may occur in two requests", () => {
    const flag = (...requests: QueuedRequest[]) => encodeCall(byKey, "", requests).args[1]
    expect(flag(request("a"), request("b"))).toBe("")
    expect(flag(request("a"), request("a", 1, true))).toBe("1")
    const other = { ...under(policy), ref: policyRef("n", "q") }
    expect(flag({ ...request("a"), policies: [under(policy), other] })).toBe("")
  })
})

describe("a reply", () => {
  test("is decoded with integers of any type, and rejected with anything else", () => {
    const decoded = [{ granted: 1, levels: [[2, 500]], at: 7 }]
    for (const reply of [
      [7, 2, 500],
      ["7", "2", "500"],
      [7n, 2n, 500n],
      [Buffer.from("7"), 2, Buffer.from("500")],
    ]) {
      expect(decodeReply([request("k")], reply)).toEqual(decoded)
    }
    for (const reply of [[7, 2], [7, 2, 500, 0], [7, 2, null], [7, 2, 0.5], [7, 2, "x"], null, "OK"]) {
      expect(() => decodeReply([request("k")], reply)).toThrow(/from Redis/)
    }
  })

  test("that no state can cause is an error of one request", () => {
    const replies = decodeReply(
      [request("a"), request("b"), request("c")],
      [7, 2 ** 60, 1, ["user_function:1: oh"], 1, 2],
    )
    const unreadable = "UNREADABLE the value under this key is no state of its policy, reset the key:"
    expect(replies).toEqual([
      new Error(`${unreadable} it makes ${2 ** 60}`),
      new Error(`${unreadable} user_function:1: oh`),
      { granted: 1, levels: [[1, 2]], at: 7 },
    ])
  })

  test("marks a denial by the sign of its first number, and ends with the number granted of several", () => {
    const requests = [request("a"), { ...request("b"), count: 4 }, { ...request("c"), count: 2 }]
    expect(decodeReply(requests, [7, -4, 500, 0, -6, 400, 0, 3, 2, 300])).toEqual([
      { granted: 0, levels: [[3, 500, 0]], at: 7 },
      { granted: 3, levels: [[5, 400, 0]], at: 7 },
      { granted: 2, levels: [[2, 300]], at: 7 },
    ])
  })
})
