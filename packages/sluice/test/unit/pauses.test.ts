import { execFile } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { Pauses, watchPauses } from "../support/pauses.js"

test("time in which the process neither looked nor used the CPU is a pause", () => {
  const pauses = new Pauses(0, 0)
  pauses.look(2, 1)
  pauses.look(64, 3)
  // 62 ms, less a step of 2 ms and 2 ms of CPU time.
  expect(pauses.between(0, 100)).toBe(58)
  expect(pauses.between(0, 30)).toBe(28)
  expect(pauses.between(64, 100)).toBe(0)
})

test("time in which the process was busy itself is no pause", () => {
  const pauses = new Pauses(0, 0)
  pauses.look(80, 79)
  expect(pauses.between(0, 100)).toBe(0)
})

test("only a pause after the deadline excuses a late call", () => {
  const pauses = new Pauses(0, 0)
  pauses.look(102, 0)
  pauses.look(104, 0)
  pauses.look(126, 0)
  expect(pauses.lateness({ startedAt: 0, endedAt: 130 }, 104)).toBe(6)
  expect(pauses.lateness({ startedAt: 0, endedAt: 90 }, 104)).toBe(-14)
})

test("a stop of this process is found, and its own work is not", async () => {
  const watched = watchPauses()
  const { pid } = process
  const startedAt = performance.now()
  await promisify(execFile)("sh", ["-c", `kill -STOP ${pid}; sleep 0.2; kill -CONT ${pid}`])
  const used = process.cpuUsage()
  const resumedAt = performance.now()
  await sleep(10)
  const stoppedUntil = performance.now()
  while (performance.now() < stoppedUntil + 100);
  await sleep(10)
  const { user, system } = process.cpuUsage(used)
  const pauses = watched.stop()
  expect(pauses.between(startedAt, stoppedUntil)).toBeGreaterThan(150)
  const end = performance.now()
  // Several threads of the process can use more CPU time than has passed. A look may lie before the moment it is asked about.
  const idle = Math.max(end - resumedAt - (user + system) / 1_000, 0)
  expect(pauses.between(stoppedUntil, end)).toBeLessThanOrEqual(idle + 2)
})
