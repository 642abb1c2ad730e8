import { setTimeout as sleep } from "node:timers/promises"
import type { OutagePolicy } from "sluice"
import type { RedisStoreOptions } from "sluice/redis"
import { expect } from "vitest"
import { besiege, type Connection, LATE, report, type Siege, shared } from "./chaos.js"
import { census, leftOver, timersAndListeners } from "./leaks.js"
import type { ScriptCalls } from "./script-calls.js"

export interface Trial extends RedisStoreOptions {
  /** The name of the fault and of the client. */
  readonly fault: string
  readonly then: OutagePolicy
  /** Milliseconds. */
  readonly deadline?: number
  /** Whether the shared key is spent from leases. */
  readonly lease?: boolean
  readonly open: () => Promise<Connection>
  /** The calls that were sent. */
  readonly calls: ScriptCalls
  /** Causes the fault and ends it. Resolves when the store works again. */
  readonly strike: (siege: Siege) => Promise<unknown>
  /** The most milliseconds until the store replies again. */
  readonly within: number
  /** Granted units of the shared key that the server forgets. */
  readonly forgets?: (siege: Siege) => number
  /** Whether the server keeps its state. Then all allowed units are found in it. */
  readonly keeps?: boolean
  /** Whether every reply arrives in the end. Then late grants are given back, unless the request passed. */
  readonly answersLate?: boolean
  /** Keys of which some were unreachable. Default: any. */
  readonly lostKey?: (n: number) => string
}

/**
 * Runs 200 callers through a fault, and checks the rules for every fault:
 *
 * - Each call ends within the deadline plus 50 ms, and pauses of the machine in between.
 * - No call that may have run is repeated.
 * - No more is admitted than the policy allows, plus the grants that the fault can lose.
 * - Afterwards the limiter is exact.
 * - No socket, timer or listener is left, not even an unref'd timer.
 */
export async function endure(trial: Trial) {
  const {
    fault,
    then,
    open,
    calls,
    strike,
    within,
    forgets = () => 0,
    keeps = true,
    answersLate = false,
    lostKey,
    ...options
  } = trial
  const before = census()
  const connection = await open()
  const { emitter } = connection
  const whatIsOurs = () => timersAndListeners(census({ client: emitter }))
  const opened = whatIsOurs()
  const siege = besiege(connection.client, { then, ...options })
  await sleep(300)
  await strike(siege)
  const recovery = await siege.recovery(lostKey)
  await sleep(300)
  const told = await siege.end(fault)
  report(`${fault}: recovery`, {
    recovery,
    calls: calls.calls,
    refusals: calls.refusals,
    changes: siege.changes.length,
  })

  expect(told.strangers).toEqual([])
  expect(told.late).toBeLessThanOrEqual(LATE)
  expect(recovery).toBeLessThanOrEqual(within)

  expect(calls.replaysOf("each")).toEqual([])
  const spent = await siege.spent()
  expect(spent.most).toBeLessThanOrEqual(1)
  expect(spent.total).toBeLessThanOrEqual(calls.mayHaveRun)
  const granted = siege.ofEach.filter(({ outcome, degraded }) => outcome === "allowed" && !degraded).length
  const inDoubt = siege.ofEach.filter(
    ({ outcome, degraded }) => degraded || outcome === "STORE_UNKNOWN",
  ).length
  expect(spent.total).toBeLessThanOrEqual(granted + inDoubt)
  if (keeps) expect(spent.total).toBeGreaterThanOrEqual(granted)
  if (answersLate && then !== "open") expect(spent.total).toBe(granted)

  expect(told.admitted).toBeGreaterThan(0)
  expect(told.excess).toBeLessThanOrEqual(forgets(siege))
  if (then === "throw" || then === "closed") expect(told.admittedWithout).toBe(0)
  if (typeof then === "object") {
    // Its share of the policy, over the whole time.
    const most = then.local * (shared.capacity + shared.refill * told.seconds)
    expect(told.admittedWithout).toBeLessThanOrEqual(Math.ceil(most))
  }
  expect(await siege.admitsOf50()).toBe(50)

  await siege.close()
  expect(await leftOver(opened, whatIsOurs)).toEqual({})
  connection.close()
  expect(await leftOver(before)).toEqual({})
  return { siege, told, recovery, spent }
}
