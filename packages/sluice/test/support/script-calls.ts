import { RespError, type RespValue } from "./resp-stream.js"

/** What became of an ask that was sent: `open` if nobody knows, and so it may have run. */
type Fate = "open" | "ran" | { readonly refused: string }

/** Counts what passes on the wire: which asks were sent in script calls, how often, and what the server said. */
export class ScriptCalls {
  readonly #sent = new Map<string, { fate: Fate }[]>()
  /** How many calls were sent. */
  calls = 0
  /** How many calls were not run, by the code of the error. */
  readonly refusals: { [code in "NOSCRIPT" | "BUSY" | "OOM" | "READONLY" | "MOVED"]?: number } & Record<
    string,
    number
  > = {}

  /** Notes a command that is sent; what returns is told the reply, if there is one. */
  note(command: RespValue): (reply: RespValue) => void {
    const asks = spendsOf(command)
    if (asks === undefined) return () => {}
    this.calls += 1
    const sendings = asks.map((key) => {
      const sending = { fate: "open" as Fate }
      const before = this.#sent.get(key)
      if (before === undefined) this.#sent.set(key, [sending])
      else before.push(sending)
      return sending
    })
    return (reply) => {
      const fate = fateOf(reply, asks.length)
      if (typeof fate === "object") this.refusals[fate.refused] = (this.refusals[fate.refused] ?? 0) + 1
      for (const sending of sendings) sending.fate = fate
    }
  }

  /** How many different keys were spent from. */
  get keys(): number {
    return this.#sent.size
  }

  /** How many asks ran, or may have. */
  get mayHaveRun(): number {
    let count = 0
    for (const sendings of this.#sent.values()) {
      for (const { fate } of sendings) if (typeof fate === "string") count += 1
    }
    return count
  }

  /** Keys of which an ask was sent again though one before it was not refused; each is to be asked for once only. */
  replaysOf(limiter: string): string[] {
    const replayed: string[] = []
    for (const [key, sendings] of this.#sent) {
      const again = sendings.slice(0, -1).some(({ fate }) => typeof fate === "string")
      if (again && key.includes(`}:${limiter}:`)) replayed.push(key)
    }
    return replayed
  }
}

/** The keys that a script call spends from, a turn included; undefined for any other command. */
function spendsOf(command: RespValue): string[] | undefined {
  if (!Array.isArray(command) || !/^evalsha$|^eval$/i.test(String(command[0]))) return undefined
  const count = Number(command[2])
  const keys = command.slice(3, 3 + count).map(String)
  const [, plansText, numbersText, , term] = command.slice(3 + count).map(String)
  // a script that is no ask
  if (plansText?.startsWith('[["') !== true) return undefined
  const plans = JSON.parse(plansText) as unknown[][]
  // asks that are alike have nothing in that place, or, if terms follow, their counts
  const numbers = term === undefined && numbersText ? (JSON.parse(numbersText) as number[]) : undefined
  const spends: string[] = []
  for (let used = 0, ask = 0; used < keys.length; ask += 1) {
    const plan = plans[(numbers?.[ask] ?? 1) - 1] as unknown[]
    const mode = String(plan[0])
    if (mode === "spend" || mode === "book") spends.push(keys[used] as string)
    const notes = ["book", "leave", "reserve", "settle"].includes(mode) ? 1 : 0
    const own = plan.filter((terms, i) => i % 2 === 1 && i > 1 && !(terms as { with?: number }).with)
    // those that look back have a key for each part, where it is noted when that was forgotten
    const moments = ["spend", "peek", "charge"].includes(mode) ? 0 : plan.length / 2 - 1
    used += own.length + moments + notes
  }
  return spends.length > 0 ? spends : undefined
}

function fateOf(reply: RespValue, asks: number): Fate {
  if (reply instanceof RespError) return { refused: codeOf(reply.message) }
  // an ask that failed has a list in its place
  const failed = Array.isArray(reply) ? reply.filter((value) => Array.isArray(value)) : []
  const refused = codeOf(String((failed[0] as RespValue[] | undefined)?.[0]))
  // on a replica nothing is written, and who did not try to was denied
  return failed.length < asks && refused !== "READONLY" ? "ran" : { refused }
}

function codeOf(message: string): string {
  return message.split(" ", 1)[0] as string
}
