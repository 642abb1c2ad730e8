import { expect, test, vi } from "vitest"
import { countingOf } from "../../algorithms/index.js"
import { fixedWindow, tokenBucket } from "../../policy.js"
import { scopeOf } from "../../state-key.js"
import { hashOf } from "./key-hash.js"

const bucket = countingOf(tokenBucket({ capacity: 5, refill: 1, every: "1h" }))
const window = countingOf(fixedWindow({ limit: 5, window: "1h" }))
const scope = scopeOf("api", "default")

const hashed = (key: string, of = scope, counting = bucket) => hashOf(of, counting, key).join()

test("keys that differ in a character, a byte of one, their order or their number are told apart", () => {
  const keys = new Set<string>()
  const characters = ["\0", "a", "\u0100", "\u6100", "\u0061\u0000", "ÿ", "\ud83d", "\ude00", "0", "1"]
  let longer = [""]
  for (let length = 0; length < 5; length += 1) {
    for (const key of longer) keys.add(key)
    longer = longer.flatMap((key) => characters.map((character) => key + character))
  }
  for (const filler of ["x", "\0", "é", "\u0178", "語"]) {
    for (let length = 1; length < 140; length += 1) {
      const key = filler.repeat(length)
      keys.add(key)
      for (let i = 0; i < length; i += 1) {
        keys.add(`${key.slice(0, i)}y${key.slice(i + 1)}`)
        keys.add(`${key.slice(0, i)}\u0179${key.slice(i + 1)}`)
      }
    }
  }
  expect(keys.size).toBeGreaterThan(100_000)
  expect(new Set([...keys].map((key) => hashed(key))).size).toBe(keys.size)
})

test("a key is the same however the string came to be", () => {
  const key = "user:0123456789abcdef"
  const text = `GET /${key}?q=1`
  const joined = ["user", "0123456789abcdef"].join(":")
  const pieces = `${text.slice(5, 10)}${text.slice(10, 26)}`
  for (const same of [text.slice(5, 26), joined, pieces, Buffer.from(key).toString()]) {
    expect(same).toBe(key)
    expect(hashed(same)).toBe(hashed(key))
  }
})

test("a key is another in another scope, and where policies count otherwise", () => {
  const all = [
    hashed("k"),
    hashed("k", scopeOf("api", "other")),
    hashed("k", scopeOf("other", "default")),
    hashed("k", scope, window),
    hashed("k", scopeOf("api", "other"), window),
  ]
  expect(new Set(all).size).toBe(all.length)
  expect(hashed("k", scopeOf("api", "default"))).toBe(all[0])
  expect(hashed("k", scope, window)).toBe(all[3])
})

test("keys that follow each other are spread over all bits", () => {
  const count = 100_000
  const bits = new Array(128).fill(0)
  const places = new Array(1_024).fill(0)
  for (let i = 0; i < count; i += 1) {
    const hash = hashOf(scope, bucket, `user:${String(i).padStart(11, "0")}`)
    for (let bit = 0; bit < 128; bit += 1) bits[bit] += ((hash[bit >> 5] as number) >>> (bit & 31)) & 1
    places[(hash[0] as number) & 1_023] += 1
  }
  // ten times as far off as they are by chance
  for (const ones of bits) expect(Math.abs(ones - count / 2)).toBeLessThan(10 * Math.sqrt(count / 4))
  for (const keys of places)
    expect(Math.abs(keys - count / 1_024)).toBeLessThan(10 * Math.sqrt(count / 1_024))
})

test("nobody knows from one process what a key is in another", async () => {
  vi.resetModules()
  const other = await import("./key-hash.js")
  expect(other.hashOf(scope, bucket, "k").join()).not.toBe(hashed("k"))
})
