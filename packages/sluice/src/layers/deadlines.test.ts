import { execFile } from "node:child_process"
import { stat } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { expect, test, vi } from "vitest"
import { Deadlines, type Due } from "./deadlines.js"

const now = () => performance.now()

function due(expire: () => void): Due {
  return { startedAt: 0, before: undefined, after: undefined, expire }
}

/** Keeps this process busy. */
function block(ms: number) {
  const until = now() + ms
  while (now() < until);
}

test("a reply that arrived while the process was busy is in time", async () => {
  const deadlines = new Deadlines(30)
  const expired: string[] = []
  deadlines.add(due(() => expired.push("never answered")))
  const answered = due(() => expired.push("answered"))
  deadlines.add(answered)
  // The file system works outside of this thread, and its results arrive like those of a socket.
  stat(".", () => deadlines.remove(answered))
  await undefined
  block(100)
  await sleep(30)
  expect(expired).toEqual(["never answered"])
})

test("a deadline that is set while others expire keeps its full length", async () => {
  const deadlines = new Deadlines(30)
  const set = vi.spyOn(globalThis, "setTimeout")
  const startedAt = now()
  const second = await new Promise<number>((resolve) => {
    deadlines.add(due(() => deadlines.add(due(() => resolve(now() - startedAt)))))
  })
  expect(second).toBeGreaterThanOrEqual(60)
  for (const [, ms] of set.mock.calls) expect(ms).toBeLessThanOrEqual(30)
  set.mockRestore()
})

test("a deadline that is set after a long synchronous run keeps its full length", async () => {
  const deadlines = new Deadlines(30)
  deadlines.add(due(() => {}))
  block(60)
  const startedAt = now()
  const took = await new Promise<number>((resolve) => {
    deadlines.add(due(() => resolve(now() - startedAt)))
  })
  expect(took).toBeGreaterThanOrEqual(30)
})

test("deadlines that are set again on expiry share one timer", async () => {
  const deadlines = new Deadlines(5)
  const set = vi.spyOn(globalThis, "setTimeout")
  let left = 200
  await new Promise<void>((resolve) => {
    const again = () => {
      left -= 1
      if (left > 0) deadlines.add(due(again))
      else resolve()
    }
    for (let i = 0; i < 20; i += 1) setImmediate(() => deadlines.add(due(again)))
  })
  expect(set.mock.calls.length).toBeLessThan(60)
  set.mockRestore()
})

test("a removed deadline never expires, wherever it was in the list", async () => {
  const deadlines = new Deadlines(20)
  const expired: number[] = []
  const all = Array.from({ length: 6 }, (_, i) => due(() => expired.push(i)))
  for (const each of all) deadlines.add(each)
  for (const i of [0, 3, 5]) deadlines.remove(all[i] as Due)
  // Remove it twice, and remove one that was never added.
  deadlines.remove(all[3] as Due)
  deadlines.remove(due(() => {}))
  await new Promise<void>((resolve) => deadlines.add(due(resolve)))
  expect(expired).toEqual([1, 2, 4])
})

test("a deadline expires on time in an otherwise idle process", async () => {
  // In its own process, because a worker of the test runner is never that quiet.
  const program = `
    import { Deadlines } from ${JSON.stringify(new URL("./deadlines.ts", import.meta.url).href)}
    const deadlines = new Deadlines(30)
    const startedAt = performance.now()
    const stays = setTimeout(() => {}, 10_000)
    deadlines.add({
      expire() {
        clearTimeout(stays)
        console.log(performance.now() - startedAt)
      },
    })`
  const args = ["--import", "tsx", "--input-type=module", "--eval", program]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(Number(stdout)).toBeGreaterThanOrEqual(30)
  expect(Number(stdout)).toBeLessThan(2_000)
})
