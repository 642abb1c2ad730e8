import { describe, expect, test } from "vitest"
import { Deferred, isPromise } from "./deferred.js"

describe("a Deferred", () => {
  test("calls all listeners at once, in their order", () => {
    const later = new Deferred<number>()
    const told: string[] = []
    for (const name of ["a", "b", "c"]) later.then((value) => told.push(`${name}${value}`))
    later.resolve(1)
    expect(told).toEqual(["a1", "b1", "c1"])
    later.then((value) => told.push(`d${value}`))
    expect(told.at(-1)).toBe("d1")
  })

  test("keeps its first outcome", async () => {
    const kept = new Deferred<number>()
    kept.resolve(1)
    kept.resolve(2)
    kept.reject(new Error("too late"))
    expect(await kept).toBe(1)
    const broken = new Deferred<number>()
    broken.reject(new Error("first"))
    broken.resolve(1)
    await expect(Promise.resolve(broken)).rejects.toThrow("first")
  })

  test("chains the result of a handler, also if that is a promise", async () => {
    const later = new Deferred<number>()
    const chain = later
      .then((value) => value + 1)
      .then((value) => Promise.resolve(value * 10))
      .then((value) => {
        const inner = new Deferred<number>()
        setImmediate(() => inner.resolve(value + 5))
        return inner
      })
    later.resolve(1)
    expect(await chain).toBe(25)
  })

  test("passes an error on until a handler catches it", async () => {
    const later = new Deferred<number>()
    const chain = later
      .then((value) => value + 1)
      .then(undefined, (error: unknown) => `handled: ${(error as Error).message}`)
    later.reject(new Error("no"))
    expect(await chain).toBe("handled: no")
  })

  test("rejects with the error of a handler, or of the promise it returned", async () => {
    const thrown = new Deferred<number>()
    const one = thrown.then(() => {
      throw new Error("thrown")
    })
    const other = thrown.then(() => Promise.reject(new Error("rejected")))
    thrown.resolve(1)
    await expect(Promise.resolve(one)).rejects.toThrow("thrown")
    await expect(Promise.resolve(other)).rejects.toThrow("rejected")
  })

  test("is recognised as a promise, unlike plain values", () => {
    expect(isPromise(new Deferred())).toBe(true)
    expect(isPromise(Promise.resolve())).toBe(true)
    for (const there of [undefined, null, 1, "then", {}, { then: 1 }]) expect(isPromise(there)).toBe(false)
  })
})
