import { type Duration, milliseconds } from "../duration.js"
import { checkFields, SluiceError, shown } from "../errors.js"

/** `OVERALL`: all clients share the rate. `PER_CLIENT`: each client has the rate for itself. */
export type RateType = "OVERALL" | "PER_CLIENT"

/** A rate to set. */
export interface Rate {
  readonly type: RateType
  /** The most permits in any `interval`. */
  readonly rate: number
  readonly interval: Duration
  /** How long after its last use Redis forgets the limiter. Default: 0, never. */
  readonly keepAliveTime?: Duration | undefined
}

/** The rate stored in Redis. Durations are milliseconds; a `keepAliveTime` of 0 means forever. */
export interface RateConfig extends Rate {
  readonly interval: number
  readonly keepAliveTime: number
}

/** Redisson stores the index of the type. */
const types: readonly RateType[] = ["OVERALL", "PER_CLIENT"]

const MAX_RATE = 1e12

/** Checks a rate and turns its durations into milliseconds. */
export function checkRate(given: Rate): RateConfig {
  checkFields("INVALID_POLICY", "a rate", given, ["type", "rate", "interval", "keepAliveTime"])
  const { type, rate, keepAliveTime = 0 } = given
  if (!types.includes(type)) {
    throw new SluiceError("INVALID_POLICY", `type must be "OVERALL" or "PER_CLIENT", got ${shown(type)}`)
  }
  if (!Number.isInteger(rate) || rate < 1 || rate > MAX_RATE) {
    throw new SluiceError("INVALID_POLICY", `rate must be an integer from 1 to 10¹², got ${shown(rate)}`)
  }
  const interval = milliseconds(given.interval, "interval")
  const keptFor = keepAliveTime === 0 ? 0 : milliseconds(keepAliveTime, "keepAliveTime")
  if (keptFor !== 0 && keptFor < interval) {
    throw new SluiceError(
      "INVALID_POLICY",
      `keepAliveTime must be at least the interval of ${interval} ms, got ${shown(keepAliveTime)}`,
    )
  }
  return { type, rate, interval, keepAliveTime: keptFor }
}

/** Encodes a rate as script arguments. Empty strings mean no rate. */
export function encodeRate(config: RateConfig | undefined): string[] {
  if (config === undefined) return ["", "", "", ""]
  const { type, rate, interval, keepAliveTime } = config
  return [rate, interval, types.indexOf(type), keepAliveTime].map(String)
}

/** Decodes a reply of `get-config.lua`. Undefined if no rate is set. */
export function decodeRate(reply: unknown): RateConfig | undefined {
  if (!Array.isArray(reply) || reply.length === 0) return undefined
  const [rate = 0, interval = 0, type = 0, keepAliveTime = 0] = reply.map((each) => Number(String(each)))
  return { type: types[type] ?? "OVERALL", rate, interval, keepAliveTime }
}
