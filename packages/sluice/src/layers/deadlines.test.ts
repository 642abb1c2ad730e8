import { execFile } from "node:child_process"
import { stat } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { Deadlines } from "./deadlines.js"

const now = () => performance.now()

/** Keeps this process busy. */
function block(ms: number) {
  const until = now() + ms
  while (now() < until);
}

test("an answer that came while this process was busy is in time", async () => {
  const deadlines = new Deadlines(30, now)
  const expired: string[] = []
  deadlines.set(() => expired.push("never answered"))
  const cancel = deadlines.set(() => expired.push("answered"))
  // the file system is asked outside of this thread, and its answers arrive as those of a socket do
  stat(".", cancel)
  block(100)
  await sleep(30)
  expect(expired).toEqual(["never answered"])
})

test("what is set while others are about to expire has its own time", async () => {
  const deadlines = new Deadlines(30, now)
  const startedAt = now()
  const second = await new Promise<number>((resolve) => {
    deadlines.set(() => deadlines.set(() => resolve(now() - startedAt)))
  })
  expect(second).toBeGreaterThanOrEqual(60)
})

test("a deadline is kept by a process that has nothing else to do", async () => {
  // a worker of the test runner is never that quiet
  const program = `
    import { Deadlines } from ${JSON.stringify(new URL("./deadlines.ts", import.meta.url).href)}
    const deadlines = new Deadlines(30, () => performance.now())
    const startedAt = performance.now()
    const stays = setTimeout(() => {}, 10_000)
    deadlines.set(() => {
      clearTimeout(stays)
      console.log(performance.now() - startedAt)
    })`
  const args = ["--import", "tsx", "--input-type=module", "--eval", program]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(Number(stdout)).toBeGreaterThanOrEqual(30)
  expect(Number(stdout)).toBeLessThan(2_000)
})
