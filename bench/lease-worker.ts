// One of the processes that share a leased limiter: asks by the clock, and tells when its asks were granted.
import { setTimeout as sleep } from "node:timers/promises"
import { connectTo } from "./redis.js"
import type { Subject } from "./subject.js"
import { leasedSluice, type SluiceOptions } from "./subjects/sluice.js"
import { serve } from "./worker.js"

export interface LeaseRequest {
  readonly port: number
  readonly policy: NonNullable<SluiceOptions["policy"]>
  /** Asks per second in each phase. */
  readonly demands: readonly number[]
  readonly phaseMs: number
  /** Epoch milliseconds. */
  readonly startsAt: number
  readonly endsAt: number
}

/** Epoch milliseconds of each grant. */
export type LeaseReply = Float64Array

const now = () => performance.timeOrigin + performance.now()

serve<LeaseRequest, LeaseReply>(async (request) => {
  const options = { policy: request.policy, limiter: "shared" }
  const subject = (await leasedSluice(connectTo(request.port), options)) as Subject
  const grants: number[] = []
  const ask = async () => {
    if (subject.passed(await subject.decide("everybody"))) grants.push(now())
  }

  await sleep(request.startsAt - now())
  const pending: Promise<void>[] = []
  let [owed, lastAt] = [0, now()]
  for (let at = lastAt; at < request.endsAt; at = now()) {
    // a timer may be a little early
    const phase = Math.floor(Math.max(at - request.startsAt, 0) / request.phaseMs) % request.demands.length
    owed += ((request.demands[phase] as number) * (at - lastAt)) / 1_000
    lastAt = at
    for (; owed >= 1; owed -= 1) pending.push(ask())
    await sleep(1)
  }
  await Promise.all(pending)
  await subject.close()
  return Float64Array.from(grants)
})
