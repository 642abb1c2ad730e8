import { readCall } from "./lua-call.js"
import { RespError, type RespValue } from "./resp-stream.js"

/** The outcome of a request that was sent. `open`: unknown, it may have run. */
type Fate = "open" | "ran" | { readonly refused: string }

/** Records the traffic: which requests were sent in script calls, how often, and the replies of the server. */
export class ScriptCalls {
  readonly #sent = new Map<string, { fate: Fate }[]>()
  /** How many calls were sent. */
  calls = 0
  /** How many calls were not run, by the code of the error. */
  readonly refusals: { [code in "NOSCRIPT" | "BUSY" | "OOM" | "READONLY" | "MOVED"]?: number } & Record<
    string,
    number
  > = {}

  /** Notes a command that is sent. The returned function receives the reply, if there is one. */
  note(command: RespValue): (reply: RespValue) => void {
    const requests = spendsOf(command)
    if (requests === undefined) return () => {}
    this.calls += 1
    const sendings = requests.map((key) => {
      const sending = { fate: "open" as Fate }
      const before = this.#sent.get(key)
      if (before === undefined) this.#sent.set(key, [sending])
      else before.push(sending)
      return sending
    })
    return (reply) => {
      const fate = fateOf(reply, requests.length)
      if (typeof fate === "object") this.refusals[fate.refused] = (this.refusals[fate.refused] ?? 0) + 1
      for (const sending of sendings) sending.fate = fate
    }
  }

  /** How many different keys were spent from. */
  get keys(): number {
    return this.#sent.size
  }

  /** How many requests ran, or may have run. */
  get mayHaveRun(): number {
    let count = 0
    for (const sendings of this.#sent.values()) {
      for (const { fate } of sendings) if (typeof fate === "string") count += 1
    }
    return count
  }

  /** Keys of requests that were repeated although the first was not refused. Each key must be requested only once. */
  replaysOf(limiter: string): string[] {
    const replayed: string[] = []
    for (const [key, sendings] of this.#sent) {
      const again = sendings.slice(0, -1).some(({ fate }) => typeof fate === "string")
      if (again && key.includes(`}${limiter}:`)) replayed.push(key)
    }
    return replayed
  }
}

/** The keys that a call of the library spends from, a booking included. Undefined for any other command. */
function spendsOf(command: RespValue): string[] | undefined {
  if (!Array.isArray(command) || !/^(fcall|evalsha|eval)$/i.test(String(command[0]))) return undefined
  const count = Number(command[2])
  const keys = command.slice(3, 3 + count).map(String)
  const requests = readCall(keys, command.slice(3 + count).map(String))?.requests ?? []
  const spends = requests.flatMap(({ mode, keys }) =>
    mode === "spend" || mode === "book" ? [keys[0] as string] : [],
  )
  return spends.length > 0 ? spends : undefined
}

function fateOf(reply: RespValue, requests: number): Fate {
  if (reply instanceof RespError) return { refused: codeOf(reply.message) }
  // A failed request has an array in its place.
  const failed = Array.isArray(reply) ? reply.filter((value) => Array.isArray(value)) : []
  const refused = codeOf(String((failed[0] as RespValue[] | undefined)?.[0]))
  // A replica writes nothing, so a request without an error was denied.
  return failed.length < requests && refused !== "READONLY" ? "ran" : { refused }
}

function codeOf(message: string): string {
  return message.split(" ", 1)[0] as string
}
