import { stat } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
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
