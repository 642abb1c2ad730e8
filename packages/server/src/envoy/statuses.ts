import type { EnvoyUnit, ResponseHeaders } from "../config/config.js"
import { MOST_REQUESTS, unitLengths } from "../config/read-domain.js"
import type { DescriptorStatus, Header } from "./messages.js"
import type { Outcome } from "./outcomes.js"
import type { Target } from "./targets.js"

const unitNames = new Map(
  Object.entries(unitLengths).map(([unit, length]) => [length, unit.toUpperCase() as Uppercase<EnvoyUnit>]),
)

/** The status of a descriptor in a response. */
export function statusOf(target: Target | undefined, outcome: Outcome | undefined): DescriptorStatus {
  if (target === undefined) return { code: "OK" }
  if (target.kind === "unlimited") return { code: "OK", limitRemaining: MOST_REQUESTS }
  const { isOver = false, level } = outcome ?? {}
  const code = isOver && !target.isShadow ? "OVER_LIMIT" : "OK"
  if (level === undefined) return { code }
  const { limit, window, remaining, resetAfter } = level
  const { name } = target
  return {
    code,
    currentLimit: {
      requestsPerUnit: Math.min(limit, MOST_REQUESTS),
      unit: unitNames.get(window) ?? "UNKNOWN",
      ...(name !== undefined && { name }),
    },
    limitRemaining: isOver ? 0 : Math.min(Math.max(remaining, 0), MOST_REQUESTS),
    durationUntilReset: { seconds: wholeSeconds(resetAfter) },
  }
}

/** The longest duration of protobuf is 10,000 years. */
const LONGEST = 315_576_000_000

/** Rounds up, because Envoy ignores fractions of a second, and a client would come back too early. */
function wholeSeconds(ms: number): number {
  return Math.min(Math.ceil(ms / 1_000), LONGEST)
}

/** Headers for the client of Envoy: the limit with the least left. */
export function headersOf(statuses: readonly DescriptorStatus[], names: ResponseHeaders | false): Header[] {
  if (names === false) return []
  let least: Required<DescriptorStatus> | undefined
  for (const status of statuses) {
    if (status.currentLimit === undefined) continue
    const { limitRemaining } = status as Required<DescriptorStatus>
    if (least === undefined || limitRemaining < least.limitRemaining)
      least = status as Required<DescriptorStatus>
  }
  if (least === undefined) return []
  const { currentLimit, limitRemaining, durationUntilReset } = least
  return [
    { key: names.limit, value: String(currentLimit.requestsPerUnit) },
    { key: names.remaining, value: String(limitRemaining) },
    { key: names.reset, value: String(durationUntilReset.seconds) },
  ]
}
