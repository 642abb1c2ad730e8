import { describe, expect, test } from "vitest"
import { isPromise, Later } from "./later.js"

describe("what is not there yet", () => {
  test("is told at once to all who wait, in the order in which they came", () => {
    const later = new Later<number>()
    const told: string[] = []
    for (const name of ["a", "b", "c"]) later.then((value) => told.push(`${name}${value}`))
    later.resolve(1)
    expect(told).toEqual(["a1", "b1", "c1"])
    later.then((value) => told.push(`d${value}`))
    expect(told.at(-1)).toBe("d1")
  })

  test("is what it first became", async () => {
    const kept = new Later<number>()
    kept.resolve(1)
    kept.resolve(2)
    kept.reject(new Error("too late"))
    expect(await kept).toBe(1)
    const broken = new Later<number>()
    broken.reject(new Error("first"))
    broken.resolve(1)
    await expect(Promise.resolve(broken)).rejects.toThrow("first")
  })

  test("goes on with what is made of it, and with what that waits for", async () => {
    const later = new Later<number>()
    const chain = later
      .then((value) => value + 1)
      .then((value) => Promise.resolve(value * 10))
      .then((value) => {
        const inner = new Later<number>()
        setImmediate(() => inner.resolve(value + 5))
        return inner
      })
    later.resolve(1)
    expect(await chain).toBe(25)
  })

  test("hands an error on until somebody handles it", async () => {
    const later = new Later<number>()
    const chain = later
      .then((value) => value + 1)
      .then(undefined, (error: unknown) => `handled: ${(error as Error).message}`)
    later.reject(new Error("no"))
    expect(await chain).toBe("handled: no")
  })

  test("breaks with what a handler throws, or what it waited for broke with", async () => {
    const thrown = new Later<number>()
    const one = thrown.then(() => {
      throw new Error("thrown")
    })
    const other = thrown.then(() => Promise.reject(new Error("rejected")))
    thrown.resolve(1)
    await expect(Promise.resolve(one)).rejects.toThrow("thrown")
    await expect(Promise.resolve(other)).rejects.toThrow("rejected")
  })

  test("is told apart from what is there", () => {
    expect(isPromise(new Later())).toBe(true)
    expect(isPromise(Promise.resolve())).toBe(true)
    for (const there of [undefined, null, 1, "then", {}, { then: 1 }]) expect(isPromise(there)).toBe(false)
  })
})
