import type { Logger } from "pino"
import type { SluiceError } from "sluice"

/**
 * What a caller is told about an error of the library. The library's own message about a store is for operators: it names settings and the
 * client of Redis, so it belongs in the log.
 */
export function messageForCaller({ code, message }: Pick<SluiceError, "code" | "message">): string {
  switch (code) {
    case "STORE_REFUSED":
      return "the store does not answer or refuses the call; nothing was changed, so it is safe to send the request again"
    case "STORE_UNKNOWN":
      return "the store did not answer in time; the call may have run, so do not send the request again unless it may count twice"
    case "CLOSED":
      return "the server is shutting down or has reloaded; nothing was charged, so send the request again"
    default:
      return message
  }
}

/** Milliseconds for which an error that was logged is not logged again. */
const PAUSE = 60_000
const MOST_MESSAGES = 1_000

/** Logs errors of the store with their details: each message at most once a minute, because every request may fail. */
export function storeErrorLog(log: Logger, now: () => number = Date.now): (error: unknown) => void {
  const logged = new Map<string, number>()
  return (thrown) => {
    const { code, message } = thrown as Partial<SluiceError>
    if (code === undefined || message === undefined || !code.startsWith("STORE_")) return
    const last = logged.get(message)
    if (last !== undefined && now() - last < PAUSE) return
    if (logged.size >= MOST_MESSAGES) logged.clear()
    logged.set(message, now())
    log.warn({ code, error: message }, "a call to the store failed")
  }
}
