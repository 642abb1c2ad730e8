import { createHash } from "node:crypto"
import { type MemoryStore, memoryStore } from "sluice"
import type { RunCommand } from "../../src/stores/redis/client.js"
import { type Outcome, runOn, type WireAsk, type WireCall } from "./script-call.js"
import { EPOCH, type Timeline } from "./timeline.js"

/** A call that was executed. */
export interface Executed {
  /** The time of the simulation, and which of all calls to the server it was. */
  readonly time: number
  readonly order: number
  /** Microseconds as the script saw them. */
  readonly at: number
  /** What bounds hold in: the time and by how much the clock was ever put ahead, or the time of the caller. */
  readonly v: number
  /** Grows when the server loses everything. */
  readonly epoch: number
  readonly from: string
  readonly asks: readonly WireAsk[]
  readonly outcomes: readonly (Outcome | Error)[]
  /** Whether a failover has undone it. */
  lost: boolean
  /** A denial that has changed something. */
  readonly wrongs: readonly WireAsk[]
}

/** What a server sends back. */
export interface Reply {
  readonly values: readonly unknown[]
  /** Which asks of the call failed. */
  readonly failed: readonly WireAsk[]
}

/** A server's error, as clients reject with it. */
export class ServerError extends Error {}

/** What a server may be in the middle of; what it says then instead of an answer. */
export type Refusal = "LOADING" | "BUSY" | "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" | "OOM" | "READONLY"

const texts: Readonly<Record<Refusal, string>> = {
  LOADING: "LOADING Redis is loading the dataset in memory",
  BUSY: "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
  MASTERDOWN: "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  CLUSTERDOWN: "CLUSTERDOWN The cluster is down",
  TRYAGAIN: "TRYAGAIN Multiple keys request during rehashing of slot",
  OOM: "OOM command not allowed when used memory > 'maxmemory'.",
  READONLY: "READONLY You can't write against a read only replica.",
}

/** Microseconds that a call takes; so no two are decided at the same time. */
const TAKES = 20

const hashes = new Map<string, string>()

function shaOf(text: string): string {
  const sha = hashes.get(text) ?? createHash("sha1").update(text).digest("hex")
  hashes.set(text, sha)
  return sha
}

/**
 * A server that answers calls of the script with the algorithms in TypeScript, in one step each, by a clock of its own.
 * It can lose its newest writes, all of them, its scripts, or its mind.
 */
export class SimulatedServer {
  readonly name: string
  readonly #timeline: Timeline
  readonly #onExecuted: (executed: Executed) => void
  readonly #scripts = new Set<string>()
  readonly #functions = new Set<string>()
  readonly #time = { us: 0 }
  readonly #tamper: (store: MemoryStore) => MemoryStore
  #store: MemoryStore
  #history: Executed[] = []
  readonly #queue: (() => void)[] = []
  #freeAt = 0
  #executed = 0
  #offset = 0
  #putAhead = 0
  #epoch = 0
  refusal: Refusal | undefined
  /** When its data or its clock last changed without a call. */
  disturbedAt = Number.NEGATIVE_INFINITY

  constructor(
    name: string,
    timeline: Timeline,
    onExecuted: (executed: Executed) => void,
    tamper: (store: MemoryStore) => MemoryStore,
  ) {
    this.name = name
    this.#tamper = tamper
    this.#store = this.#newStore()
    this.#timeline = timeline
    this.#onExecuted = onExecuted
  }

  /** Its clock. */
  get us(): number {
    return EPOCH + this.#timeline.now + this.#offset
  }

  /** Microseconds by which bounds may count on more time than has passed. */
  get v(): number {
    return this.#timeline.now + this.#putAhead
  }

  get epoch(): number {
    return this.#epoch
  }

  /** Runs a call as Redis would: a full server or a replica refuses a writing function before it runs. */
  run(from: string, command: RunCommand, script: string, call: WireCall): Reply {
    const isWritingFunction = command === "FCALL" && !script.endsWith("_ro")
    if (isWritingFunction || (this.refusal !== "OOM" && this.refusal !== "READONLY")) this.#refuse()
    if (command === "FCALL" && !this.#functions.has(script.replace(/_ro$/, "")))
      throw new ServerError("ERR Function not found")
    if (command === "EVALSHA" && !this.#scripts.has(script))
      throw new ServerError("NOSCRIPT No matching script. Please use EVAL.")
    if (command === "EVAL") this.#scripts.add(shaOf(script))
    return this.#run(from, call)
  }

  /** Loads a function library, as FUNCTION LOAD does. */
  load(library: string): void {
    this.#refuse()
    const name = /^#!lua name=(\w+)/.exec(library)?.[1] as string
    if (this.#functions.has(name)) throw new ServerError(`ERR Library '${name}' already exists`)
    this.#functions.add(name)
  }

  /** Runs calls one after the other, in the order in which they have arrived. */
  submit(run: () => void): void {
    this.#queue.push(run)
    if (this.#queue.length === 1) this.#timeline.at(this.#freeAt, undefined, () => this.#next(), false)
  }

  #next(): void {
    const run = this.#queue.shift()
    this.#freeAt = this.#timeline.now + TAKES
    if (this.#queue.length > 0) this.#timeline.at(this.#freeAt, undefined, () => this.#next(), false)
    run?.()
  }

  /** Looks without anybody knowing, at a time of its clock. */
  look(request: WireAsk, us = this.us): Outcome {
    this.#time.us = us
    return runOn(this.#store, request)
  }

  /** Loses scripts and functions, as SCRIPT FLUSH and FUNCTION FLUSH do. */
  flushScripts(): void {
    this.#scripts.clear()
    this.#functions.clear()
  }

  /** Starts again: with all its data, without any, or without what came in the last microseconds. */
  restart(loses: "nothing" | "everything" | number): Executed[] {
    this.flushScripts()
    if (loses === "nothing") return []
    this.disturbedAt = this.#timeline.now
    const since = loses === "everything" ? Number.NEGATIVE_INFINITY : this.#timeline.now - loses
    const lost = this.#history.filter(({ time }) => time > since)
    if (loses === "everything") this.#epoch += 1
    else for (const each of lost) each.lost = true
    this.#history = this.#history.filter(({ time }) => time <= since)
    this.#store = this.#newStore()
    for (const { at, asks: requests, outcomes } of this.#history) {
      this.#time.us = at
      for (const [i, request] of requests.entries())
        if (!(outcomes[i] instanceof Error)) runOn(this.#store, request)
    }
    return loses === "everything" ? [] : lost
  }

  /** Puts its clock ahead or back. */
  shiftClock(us: number): void {
    this.#offset += us
    if (us > 0) this.#putAhead += us
    if (us !== 0) this.disturbedAt = this.#timeline.now
  }

  #newStore() {
    return this.#tamper(memoryStore({ clock: () => this.#time.us / 1_000 }))
  }

  #refuse(): void {
    if (this.refusal !== undefined) throw new ServerError(texts[this.refusal])
  }

  #run(from: string, { now, asks: requests }: WireCall): Reply {
    const at = now ?? this.us
    this.#time.us = at
    const wrongs: WireAsk[] = []
    const outcomes = requests.map((request) => {
      const outcome = this.#answer(request)
      if (this.#wasWrong(request, outcome)) wrongs.push(request)
      return outcome
    })
    const executed = {
      time: this.#timeline.now,
      order: this.#executed++,
      at,
      v: now === undefined ? this.v : now - EPOCH,
      epoch: this.#epoch,
      from,
      asks: requests,
      outcomes,
      lost: false,
      wrongs,
    }
    this.#history.push(executed)
    this.#onExecuted(executed)
    const values: unknown[] = [at]
    for (const outcome of outcomes) {
      if (outcome instanceof Error) values.push([outcome.message])
      else values.push(...outcome.reply)
    }
    return { values, failed: requests.filter((_, i) => outcomes[i] instanceof Error) }
  }

  /** Whether a denial has changed something: who looks right after it is told otherwise. */
  #wasWrong(request: WireAsk, outcome: Outcome | Error): boolean {
    if (request.mode !== "spend" || outcome instanceof Error || outcome.granted > 0) return false
    const { reply } = runOn(this.#store, { ...request, mode: "peek" })
    return reply.some((value, i) => value !== outcome.reply[i])
  }

  /** What would write fails on a server that is full, or a replica; the rest of the call goes on. */
  #answer(request: WireAsk): Outcome | Error {
    const { refusal } = this
    if (refusal !== "OOM" && refusal !== "READONLY") return runOn(this.#store, request)
    if (request.mode === "peek" || (request.mode === "forget" && refusal === "OOM"))
      return runOn(this.#store, request)
    if (request.mode !== "spend") return new ServerError(texts[refusal])
    const seen = runOn(this.#store, { ...request, mode: "peek" })
    return seen.granted > 0 ? new ServerError(texts[refusal]) : seen
  }
}
