import { setTimeout as sleep } from "node:timers/promises"
import type { OutagePolicy } from "sluice"
import type { RedisStoreOptions } from "sluice/redis"
import { expect } from "vitest"
import { besiege, type Connection, LATE, report, type Siege, shared } from "./chaos.js"
import { census, leftOver, timersAndListeners } from "./leaks.js"
import type { ScriptCalls } from "./script-calls.js"

export interface Trial extends RedisStoreOptions {
  /** What is done to the server, and whose client it is. */
  readonly fault: string
  readonly then: OutagePolicy
  /** Milliseconds. */
  readonly deadline?: number
  /** Whether the shared key is spent from leases. */
  readonly lease?: boolean
  readonly open: () => Promise<Connection>
  /** What passed on the wire. */
  readonly calls: ScriptCalls
  /** Does it and undoes it; resolves when the store could be asked again. */
  readonly strike: (siege: Siege) => Promise<unknown>
  /** Milliseconds after which the store has answered again at the latest. */
  readonly within: number
  /** Units that the server forgets of what it had granted of the shared key. */
  readonly forgets?: (siege: Siege) => number
  /** Whether the server keeps what it answered; if so, all that was allowed is found in it. */
  readonly keeps?: boolean
  /** Whether every answer comes in the end: then what was granted too late is given back, unless it was let through. */
  readonly answersLate?: boolean
  /** Keys of which some were out of reach; any if left out. */
  readonly lostKey?: (n: number) => string
}

/**
 * Has 200 callers live through a fault, and says what every fault has in common: each call is over within the deadline
 * and 50 ms (by how long this process itself was held up is reported beside it); none is sent again that may have run;
 * no more is admitted than the policy does, and what the fault can lose; afterwards the limiter is exact; nothing is left
 * behind: no socket, no timer, not even one that holds nothing open, and no listener.
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
    // its share of the policy, in all the time it took
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
