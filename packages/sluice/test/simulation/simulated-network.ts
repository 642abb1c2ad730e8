import type { RedisClient } from "sluice/redis"
import type { Random } from "./random.js"
import type { scriptCalls, WireAsk, WireCall } from "./script-call.js"
import { type Reply, ServerError, type SimulatedServer } from "./simulated-server.js"
import type { Owner, Timeline } from "./timeline.js"

/** What is noted of calls as the client of a process sees them. */
export interface Wire {
  sent(from: Owner, asks: readonly WireAsk[]): void
  /** These were certainly not executed. */
  refused(from: Owner, asks: readonly WireAsk[]): void
  /** Nobody can tell whether these were executed. */
  lost(from: Owner, asks: readonly WireAsk[]): void
}

interface Flight {
  readonly call: WireCall
  readonly run: () => Reply
  resolve(reply: unknown): void
  reject(error: Error): void
  /** Whether the server has it. */
  arrived: boolean
  /** Whether the client waits no longer, or it will never arrive. */
  over: boolean
  cut: boolean
  /** Its answer is lost on the way. */
  mute: boolean
  timeout: ReturnType<Timeline["at"]> | undefined
}

/** What becomes of what is sent: it is held until the way is free again, or gone for good. */
export type Block = "hold" | "drop"

/** What clients say of calls that may have run. */
const unknowns: readonly (readonly [text: string, code?: string])[] = [
  ["Connection is closed."],
  ["read ECONNRESET", "ECONNRESET"],
  ["Socket closed unexpectedly"],
  [
    'Reached the max retries per request limit (which is 0). Refer to "maxRetriesPerRequest" option for details.',
  ],
]

/** How long things take one way, in microseconds, when nothing is wrong. */
export const USUAL: readonly [least: number, most: number] = [100, 3_000]

/** The connection of one process to one server. */
export class Link {
  readonly owner: Owner
  readonly #server: SimulatedServer
  readonly #timeline: Timeline
  readonly #random: Random
  readonly #wire: Wire
  readonly #flights = new Set<Flight>()
  #closedUntil = 0
  #lastArrival = 0
  #lastReply = 0
  #held: (() => void)[] = []
  /** Microseconds one way, at the least and at the most. */
  latency = USUAL
  requests: Block | undefined
  replies: Block | undefined
  /** What share of calls get lost, or their answers. */
  loss = 0
  /** Whether the server takes connections, and whether it answers what it has got. */
  down = false
  stopped = false
  /** Microseconds after which the client gives a call up; the connection with it, if `closes`. */
  patience: { readonly us: number; readonly closes: boolean } | undefined

  constructor(owner: Owner, server: SimulatedServer, timeline: Timeline, random: Random, wire: Wire) {
    this.owner = owner
    this.#server = server
    this.#timeline = timeline
    this.#random = random
    this.#wire = wire
  }

  send(call: WireCall, run: () => Reply): Promise<unknown> {
    this.#wire.sent(this.owner, call.asks)
    if (this.down || this.#timeline.now < this.#closedUntil) {
      this.#wire.refused(this.owner, call.asks)
      return Promise.reject(this.#unsent())
    }
    return new Promise((resolve, reject) => {
      const lost = this.#random.chance(this.loss) ? this.#random.pick(["request", "reply"]) : ""
      const mute = lost === "reply"
      const cut = lost === "request"
      const flight: Flight = {
        call,
        run,
        resolve,
        reject,
        arrived: false,
        over: false,
        cut,
        mute,
        timeout: undefined,
      }
      this.#flights.add(flight)
      const { patience } = this
      if (patience !== undefined) {
        const giveUp = () => (patience.closes ? this.reset("Socket timeout.") : this.#giveUp(flight))
        flight.timeout = this.#timeline.at(this.#timeline.now + patience.us, this.owner, giveUp)
      }
      this.#lastArrival = Math.max(this.#lastArrival, this.#timeline.now + this.#delay())
      this.#timeline.at(this.#lastArrival, undefined, () => this.#arrive(flight), false)
    })
  }

  /** Loses the connection: nobody knows what became of calls under way, and some that have not arrived still will. */
  reset(text?: string): void {
    const underWay = [...this.#flights].filter(({ over }) => !over)
    const arriving = underWay.filter(({ arrived }) => !arrived)
    const last = this.#random.integer(0, arriving.length)
    for (const flight of arriving.slice(last)) flight.cut = true
    this.#closedUntil = this.#timeline.now + this.#random.skewed(1_000, 400_000)
    this.#lastArrival = 0
    this.#lastReply = 0
    const [message, code] = text === undefined ? this.#random.pick(unknowns) : [text]
    const fail = () => {
      for (const flight of underWay) this.#lose(flight, message, code)
    }
    this.#timeline.at(this.#timeline.now, this.owner, fail)
  }

  /** The way is free: what was held goes on. */
  heal(): void {
    const dropped = this.requests === "drop" || this.replies === "drop"
    this.requests = undefined
    this.replies = undefined
    for (const go of this.#held.splice(0)) go()
    if (dropped) this.reset()
  }

  resume(): void {
    this.stopped = false
    if (this.requests === undefined && this.replies === undefined) this.heal()
  }

  #arrive(flight: Flight): void {
    if (flight.cut) return
    if (this.requests === "drop") {
      flight.cut = true
    } else if (this.requests === "hold" || this.stopped) {
      this.#held.push(() => this.#arrive(flight))
    } else if (!this.down) {
      flight.arrived = true
      this.#server.submit(() => this.#execute(flight))
    }
  }

  #execute(flight: Flight): void {
    let end: () => void
    try {
      const reply = flight.run()
      end = () => this.#answer(flight, reply)
    } catch (error) {
      if (!(error instanceof ServerError)) throw error
      end = () => this.#refuse(flight, error)
    }
    if (flight.mute) return
    this.#lastReply = Math.max(this.#lastReply, this.#timeline.now + this.#delay())
    const arrive = () => {
      if (flight.over) return
      if (this.replies === "hold")
        this.#held.push(() => this.#timeline.at(this.#timeline.now, this.owner, arrive))
      else if (this.replies === undefined) end()
    }
    this.#timeline.at(this.#lastReply, this.owner, arrive)
  }

  #answer(flight: Flight, { values, failed }: Reply): void {
    this.#over(flight)
    if (failed.length > 0) this.#wire.refused(this.owner, failed)
    flight.resolve(values)
  }

  #refuse(flight: Flight, error: Error): void {
    this.#over(flight)
    this.#wire.refused(this.owner, flight.call.asks)
    flight.reject(error)
  }

  #giveUp(flight: Flight): void {
    this.#lose(flight, "Command timed out")
  }

  #lose(flight: Flight, text: string, code?: string): void {
    if (flight.over) return
    this.#over(flight)
    this.#wire.lost(this.owner, flight.call.asks)
    flight.reject(Object.assign(new Error(text), code !== undefined && { code }))
  }

  #over(flight: Flight): void {
    flight.over = true
    this.#flights.delete(flight)
    if (flight.timeout !== undefined) this.#timeline.cancel(flight.timeout)
  }

  #unsent(): Error {
    if (this.down && this.#random.chance(0.5)) {
      return Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:6379"), { code: "ECONNREFUSED" })
    }
    return new Error("Stream isn't writeable and enableOfflineQueue options is false")
  }

  #delay(): number {
    return this.#random.skewed(...this.latency)
  }

  get server(): SimulatedServer {
    return this.#server
  }
}

/** The client of a process: calls go to the server that has their keys. */
export function clientOf(
  links: readonly Link[],
  read: ReturnType<typeof scriptCalls>,
  record: (keys: readonly string[], args: readonly string[]) => void,
): RedisClient {
  const linkOf = (keys: readonly string[]): Link => {
    const tag = Number(/\{(\d+)\}/.exec(keys[0] as string)?.[1])
    return links[tag % links.length] as Link
  }
  return {
    clustered: links.length > 1,
    run(command, script, keys, args) {
      const link = linkOf(keys)
      const call = read(keys, args)
      if (command !== "EVAL") record(keys, args)
      return link.send(call, () => link.server.run(link.owner.name, command, script, call))
    },
    load: (library) =>
      Promise.all(
        links.map((link) =>
          link.send({ now: undefined, asks: [] }, () => {
            link.server.load(library)
            return { values: [], failed: [] }
          }),
        ),
      ),
  }
}
