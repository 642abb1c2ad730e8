import { createLimiter, type MemoryStore, type Policy, type Store } from "sluice"
import { type RedisClient, redisStore } from "sluice/redis"
import type { StateRef } from "sluice/store"
import { tagOf } from "../../src/stores/redis/keys.js"
import type { Victims } from "./faults.js"
import { GuardLaws } from "./guard-laws.js"
import { LawBook } from "./law-book.js"
import { Laws } from "./laws.js"
import { listened, type Tampering } from "./layer-probes.js"
import { type Made, Player } from "./player.js"
import { Random } from "./random.js"
import { scriptCalls } from "./script-call.js"
import { type LimiterShape, type ProcessShape, type Shape, shapeOf } from "./shape.js"
import { clientOf, Link } from "./simulated-network.js"
import { SimulatedServer } from "./simulated-server.js"
import { type Owner, Timeline } from "./timeline.js"

/** Something wrong that is put in on purpose. */
export interface Bug extends Tampering {
  /** Puts it in; what it returns takes it out. */
  readonly install?: () => () => void
  /** What is done to the data of the servers. */
  readonly server?: (store: MemoryStore) => MemoryStore
  /** What is put between the store and its client. */
  readonly client?: (client: RedisClient) => RedisClient
}

/** A call as it left a process, and the time by which it was to be decided. */
export interface Recorded {
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

const MOST_RECORDED = 1_000

/** Microseconds by which the clock of a process is ever off, and by which it is put right at a time. */
const MOST_SKEW = 450_000
const MOST_STEP = 200_000

/** The world of a seed: servers, processes with limiters on them, the network in between, and the laws. */
export class World {
  readonly shape: Shape
  readonly timeline = new Timeline()
  readonly book = new LawBook(() => this.timeline.now)
  readonly servers: readonly SimulatedServer[]
  readonly owners: readonly Owner[]
  readonly links: readonly Link[]
  readonly players: Player[] = []
  readonly guards: GuardLaws[] = []
  readonly laws: Laws
  readonly recorded: Recorded[] = []
  readonly #random: Random
  readonly #read: ReturnType<typeof scriptCalls>

  constructor(seed: number, { server: tamper = (store) => store }: Bug) {
    const { timeline, book } = this
    this.shape = shapeOf(seed)
    this.#random = new Random(seed, "network")
    const { limiters, processes, servers, callersClock } = this.shape
    const policies: Policy[] = limiters.flatMap((limiter) => Object.values(limiter.policies))
    this.#read = scriptCalls(policies)
    const serverOf = (stateRef: StateRef) =>
      this.servers[Number(tagOf(stateRef)) % servers] as SimulatedServer
    const longest = (of: "maxWait" | "deadline") =>
      Math.max(...limiters.map((limiter) => limiter[of])) * 1_000
    const clocks = {
      callersClock,
      steps: 2 * MOST_STEP,
      // what one process counts another sees by its own clock, and as late as its deadline lets it
      disagree: callersClock ? 2 * (MOST_SKEW + MOST_STEP) + longest("deadline") : 0,
    }
    this.laws = new Laws(book, timeline, serverOf, clocks, longest("maxWait"), servers === 1)
    this.servers = Array.from(
      { length: servers },
      (_, i) => new SimulatedServer(`s${i}`, timeline, (executed) => this.laws.executed(executed), tamper),
    )
    this.owners = processes.map(({ name, skew }) => ({
      name,
      skew,
      dead: false,
      stalledUntil: 0,
      stalled: 0,
      timers: 0,
      keptAlive: 0,
    }))
    this.links = this.owners.flatMap((owner, i) =>
      this.servers.map((server) => {
        const link = new Link(owner, server, timeline, this.#random, this.laws.wire)
        link.patience = (processes[i] as ProcessShape).patience
        return link
      }),
    )
  }

  /** Starts every process: a store each, and all limiters on it. */
  start(bug: Bug): void {
    for (const [i, owner] of this.owners.entries()) {
      this.timeline.owner = owner
      const store = this.#storeOf(owner, this.shape.processes[i] as ProcessShape, bug)
      for (const limiter of this.shape.limiters) {
        this.players.push(new Player(owner, limiter, () => this.#make(owner, limiter, store), this.laws))
      }
      this.timeline.owner = undefined
    }
  }

  /** The processes that are still there, and their limiters. */
  get alive(): Player[] {
    return this.players.filter(({ owner }) => !owner.dead)
  }

  /** What faults can happen to. */
  victims(random: Random): Victims {
    const { timeline, servers, owners, links, book } = this
    return {
      timeline,
      random,
      servers,
      owners,
      linksTo: (server) => links.filter((link) => link.server === server),
      step: (owner) => {
        const skew = owner.skew + random.integer(-MOST_STEP, MOST_STEP)
        owner.skew = Math.max(Math.min(skew, MOST_SKEW), -MOST_SKEW)
      },
      note: (what) => book.note("fault", what),
      redeploy: (owner) => {
        for (const player of this.players) if (player.owner === owner) player.redeploy()
      },
    }
  }

  #guard: GuardLaws | undefined

  #storeOf(owner: Owner, { denyCache }: ProcessShape, { client: tamper, ...tampering }: Bug): Store {
    const { callersClock, retryFor } = this.shape
    const own = this.links.filter((link) => link.owner === owner)
    const client = clientOf(own, this.#read, (keys, args) => this.#record(own, keys, args))
    const inner = redisStore(tamper?.(client) ?? client, {
      denyCache,
      retryFor,
      ...(callersClock && { clock: () => Date.now() }),
    })
    return listened(inner, owner, this.laws, () => this.#guard as GuardLaws, tampering)
  }

  #make(owner: Owner, limiter: LimiterShape, store: Store): Made {
    const { name, policies, lease = false, deadline, then, maxWait } = limiter
    const guard = new GuardLaws(owner, limiter, this.laws)
    this.#guard = guard
    const { default: only } = policies
    const outage = { deadline, then, onChange: guard.changed.bind(guard) }
    const made = createLimiter({ name, policy: only ?? policies, store, lease, outage, maxWait })
    this.guards.push(guard)
    return { made, guard }
  }

  #record([link]: readonly Link[], keys: readonly string[], args: readonly string[]): void {
    const [now, ...rest] = args as [string, ...string[]]
    const time = now === "" ? String((link as Link).server.us) : now
    if (this.recorded.length < MOST_RECORDED) this.recorded.push({ keys, args: [time, ...rest] })
  }
}
