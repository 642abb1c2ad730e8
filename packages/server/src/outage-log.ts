import type { Logger } from "pino"
import type { EngineOptions } from "./engine.js"

const MOST_MESSAGES = 1_000

/** Logs outages: each error of the connection once until Redis is back, and each change of a limiter's health. */
export function outageLog(log: Logger): Required<EngineOptions> {
  const messages = new Set<string>()
  return {
    onError({ message }) {
      if (messages.has(message) || messages.size >= MOST_MESSAGES) return
      messages.add(message)
      log.warn({ error: message }, "no connection to Redis")
    },
    onReady() {
      if (messages.size === 0) return
      messages.clear()
      log.info("Redis is back")
    },
    onHealth(limiter, { reachable, error }) {
      if (reachable) log.info({ limiter }, "the store answers again")
      else {
        const why = error instanceof Error ? error.message : String(error)
        log.warn({ limiter, error: why }, "the store does not answer; the outage policy applies")
      }
    },
  }
}
