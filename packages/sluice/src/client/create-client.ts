import { type Duration, milliseconds } from "../duration.js"
import { checkFields, SluiceError, shown } from "../errors.js"
import type { Health } from "../layers/outage.js"
import type { LimiterMode } from "../mode.js"
import type { Policy } from "../policy.js"
import type { TopKeysReport } from "../telemetry/top-keys.js"
import { callerOf } from "./caller.js"
import { type ClientLimiter, clientLimiter } from "./client-limiter.js"
import { type ClientRules, clientRules } from "./client-rules.js"

export interface ClientOptions {
  /** Where the server is, such as `"http://127.0.0.1:8080"`. It may have a path. */
  readonly url: string
  /** The admin token. Only calls for operators need it: refund, reset, inspect, rules, limiters and top. */
  readonly token?: string | undefined
  /** How long the server has to answer, on top of a wait. Default: `"5s"`. */
  readonly deadline?: Duration | undefined
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** A limiter of the server, as operators see it. */
export interface LimiterInfo {
  readonly name: string
  readonly policies: Readonly<Record<string, Policy>>
  readonly mode: LimiterMode
  readonly health: Health
}

/** The limiters of a server. */
export interface Client {
  /** A limiter by its name. It makes no call: a name that the server does not know is an error of the first use. */
  limiter(name: string): ClientLimiter
  /** For operators: exceptions for single keys and prefixes. */
  readonly rules: ClientRules
  /** For operators: all limiters of the server. */
  limiters(): Promise<LimiterInfo[]>
  /** For operators: the busiest and the most denied keys of each limiter. `count` is 20 by default. */
  top(count?: number): Promise<TopKeysReport[]>
}

/** Connects to a Sluice server with `fetch` alone: `createClient({ url }).limiter("api").tryAcquire(key)`. */
export function createClient(options: ClientOptions): Client {
  checkFields("INVALID_OPTION", "createClient", options, ["url", "token", "deadline", "fetch"])
  const { token, deadline = "5s", fetch = globalThis.fetch } = options
  if (token !== undefined && (typeof token !== "string" || token === "")) {
    throw new SluiceError("INVALID_OPTION", `token must be a non-empty string, got ${shown(token)}`)
  }
  if (typeof fetch !== "function") {
    throw new SluiceError("INVALID_OPTION", `fetch must be a function, got ${shown(fetch)}`)
  }
  const patience = milliseconds(deadline, "deadline", "INVALID_OPTION")
  const call = callerOf({ url: baseOf(options.url), token, patience, fetch })
  return {
    limiter: (name) => clientLimiter(call, name),
    rules: clientRules(call),
    limiters: () => call<LimiterInfo[]>("GET", "/v1/limiters"),
    async top(count = 20) {
      if (Number.isInteger(count) && count >= 1 && count <= 1_000) {
        return call<TopKeysReport[]>("GET", `/v1/top?count=${count}`)
      }
      throw new SluiceError("INVALID_OPTION", `count must be an integer from 1 to 1,000, got ${shown(count)}`)
    },
  }
}

/** The URL without a slash at its end. */
function baseOf(url: unknown): string {
  const text = typeof url === "string" ? url : ""
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && !/[?#]/.test(text)) {
    return text.replace(/\/+$/, "")
  }
  throw new SluiceError("INVALID_OPTION", `url must be like "http://127.0.0.1:8080", got ${shown(url)}`)
}
