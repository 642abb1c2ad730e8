// One HTTP call to the server. It is sent once: a call that may have run is never sent again.

import { SluiceError } from "../errors.js"
import { checkSignal, type Signal } from "../waiting/wait-options.js"
import { isDecision, reviveDecision } from "./revive.js"

export interface Settings {
  readonly url: string
  readonly token: string | undefined
  /** Milliseconds until a call without an answer fails. */
  readonly patience: number
  readonly fetch: typeof globalThis.fetch
}

export interface CallOptions {
  readonly body?: object | undefined
  readonly signal?: Signal | undefined
  /** Milliseconds that the server may wait before it answers. */
  readonly wait?: number | undefined
}

/** Sends a request and resolves with the JSON of the answer, or with the decision of a denial as `{ decision }`. */
export type Caller = <T>(method: string, path: string, options?: CallOptions) => Promise<T>

/** The longest delay of a timer. */
const LONGEST_DELAY = 2 ** 31 - 1

export function callerOf({ url, token, patience, fetch }: Settings): Caller {
  return async <T>(
    method: string,
    path: string,
    { body, signal, wait = 0 }: CallOptions = {},
  ): Promise<T> => {
    checkSignal(signal)
    const ending = new AbortController()
    const most = Math.min(patience + wait, LONGEST_DELAY)
    const timer = setTimeout(() => ending.abort(unanswered(`no answer within ${most} ms`)), most)
    const onAbort = () => ending.abort(signal?.reason)
    signal?.addEventListener("abort", onAbort)
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          accept: "application/json",
          ...(body !== undefined && { "content-type": "application/json" }),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        // A redirect would turn a POST into a GET.
        redirect: "manual",
        signal: ending.signal,
      })
      return readAnswer(response.status, await response.text()) as T
    } catch (error) {
      if (ending.signal.aborted) throw ending.signal.reason
      throw error instanceof SluiceError ? error : failed(error)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener("abort", onAbort)
    }
  }
}

interface Problem {
  readonly code?: unknown
  readonly detail?: unknown
  readonly decision?: unknown
}

function readAnswer(status: number, text: string): unknown {
  if (status === 204) return undefined
  const json = parse(text)
  if (status === 200) {
    if (json === undefined) throw unanswered("the answer is no JSON; is the URL that of a Sluice server?")
    return json
  }
  const problem = (typeof json === "object" && json !== null ? json : {}) as Problem
  const { decision } = problem
  if ((status === 429 || status === 503) && isDecision(decision))
    return { decision: reviveDecision(decision) }
  throw errorOf(status, problem)
}

function errorOf(status: number, { code, detail }: Problem): SluiceError {
  const message = `the server answered ${status}${typeof detail === "string" ? `: ${detail}` : ""}`
  if (code === "STORE_REFUSED" || code === "STORE_UNKNOWN") return new SluiceError(code, message)
  // A proxy in front of the server may answer like this without having sent the call on.
  if (status === 429) return new SluiceError("STORE_REFUSED", message)
  if (status >= 500) return unanswered(message)
  if (code === "INVALID_POLICY" || code === "INVALID_KEY" || code === "INVALID_COST") {
    return new SluiceError(code, message)
  }
  if (status >= 400) return new SluiceError("INVALID_OPTION", message)
  return new SluiceError("INVALID_OPTION", "the server redirects; set url to where it redirects to")
}

/** Codes of Node for a connection that there never was, so that the call did not run. */
const notSent = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"])

function failed(error: unknown): SluiceError {
  const { code, message } = ((error as { cause?: unknown }).cause ?? {}) as {
    code?: unknown
    message?: string
  }
  const why = message === undefined || message === "" ? String(error) : message
  if (typeof code !== "string" || !notSent.has(code)) return unanswered(`no answer: ${why}`, error)
  return new SluiceError("STORE_REFUSED", `the server cannot be reached: ${why}`, { cause: error })
}

function unanswered(message: string, cause?: unknown): SluiceError {
  return new SluiceError("STORE_UNKNOWN", message, cause === undefined ? undefined : { cause })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
