import type { Random } from "./random.js"
import { type Link, USUAL } from "./simulated-network.js"
import type { Refusal, SimulatedServer } from "./simulated-server.js"
import type { Owner, Timeline } from "./timeline.js"

/** What faults can happen to. */
export interface Victims {
  readonly timeline: Timeline
  readonly random: Random
  readonly servers: readonly SimulatedServer[]
  readonly owners: readonly Owner[]
  /** All connections to a server. */
  linksTo(server: SimulatedServer): readonly Link[]
  /** Has the clock of a process step. */
  step(owner: Owner): void
  /** Closes all limiters of a process, and makes them again. */
  redeploy(owner: Owner): void
  note(what: string): void
}

const SECOND = 1_000_000

/** A fault; what it returns ends it, for those that do not end by themselves. */
type Fault = (victims: Victims, server: SimulatedServer, links: readonly Link[]) => (() => void) | undefined

const refusals: readonly Refusal[] = [
  "LOADING",
  "BUSY",
  "MASTERDOWN",
  "CLUSTERDOWN",
  "TRYAGAIN",
  "OOM",
  "READONLY",
]

/** Every fault by its name. */
export const faults: Readonly<Record<string, Fault>> = {
  slow({ random }, _server, links) {
    const least = random.integer(5_000, 300_000)
    for (const link of links) link.latency = [least, least * random.integer(2, 8)]
    return () => {
      for (const link of links) link.latency = USUAL
    }
  },

  lossy({ random }, _server, links) {
    for (const link of links) link.loss = 0.05 + random.next() * 0.5
    return () => {
      for (const link of links) link.loss = 0
    }
  },

  reset({ random, timeline }, _server, links) {
    for (const link of links) {
      for (let i = random.integer(1, 5); i > 0; i -= 1) {
        timeline.at(timeline.now + random.integer(0, 2 * SECOND), undefined, () => link.reset(), false)
      }
    }
    return undefined
  },

  /** Black holes: one way or both, held back or gone. */
  partition({ random }, _server, links) {
    const kind = random.pick(["hold", "drop"] as const)
    const way = random.pick(["both", "requests", "replies"])
    for (const link of links) {
      if (way !== "replies") link.requests = kind
      if (way !== "requests") link.replies = kind
    }
    return () => {
      for (const link of links) link.heal()
    }
  },

  refusing({ random }, server) {
    server.refusal = random.pick(refusals)
    return () => {
      server.refusal = undefined
    }
  },

  flushes({ random, timeline }, server) {
    for (let i = random.integer(1, 40); i > 0; i -= 1) {
      timeline.at(timeline.now + random.integer(0, 2 * SECOND), undefined, () => server.flushScripts(), false)
    }
    return undefined
  },

  stopped({ linksTo }, server) {
    for (const link of linksTo(server)) link.stopped = true
    return () => {
      for (const link of linksTo(server)) link.resume()
    }
  },

  /** Killed, and started again: with its data, without, or without what it had not yet written down. */
  restarted({ random, linksTo }, server) {
    for (const link of linksTo(server)) {
      link.down = true
      link.reset()
    }
    return () => {
      server.restart(random.pick(["nothing", "everything", random.integer(0, SECOND)]))
      for (const link of linksTo(server)) link.down = false
    }
  },

  /** A replica takes over that has not got everything, by a clock of its own. */
  failover({ random, linksTo }, server) {
    for (const link of linksTo(server)) {
      link.down = true
      link.reset()
    }
    return () => {
      server.restart(random.skewed(0, 2 * SECOND))
      if (random.chance(0.6)) server.shiftClock(random.integer(-8 * SECOND, 8 * SECOND))
      for (const link of linksTo(server)) link.down = false
    }
  },

  heldUp({ random, timeline, owners }) {
    timeline.stall(random.pick(owners), random.skewed(10_000, 3 * SECOND))
    return undefined
  },

  /** One of several processes is gone without a word. */
  killed({ random, owners, note }) {
    const alive = owners.filter(({ dead }) => !dead)
    if (alive.length < 3 || random.chance(0.5)) return undefined
    const owner = random.pick(alive)
    owner.dead = true
    note(`${owner.name} is dead`)
    return undefined
  },

  redeployed({ random, timeline, owners, redeploy }) {
    const owner = random.pick(owners)
    timeline.at(timeline.now + random.integer(0, SECOND), owner, () => redeploy(owner))
    return undefined
  },

  clockStep({ random, owners, step }) {
    step(random.pick(owners))
    return undefined
  },
}

const names = Object.keys(faults)

/** Has something go wrong for a while; when it is over. */
export function strike(victims: Victims, longest: number): number {
  const { random, timeline, servers, linksTo, note } = victims
  const server = random.pick(servers)
  const all = linksTo(server)
  // one process, or all of them
  const links = random.chance(0.5) ? [random.pick(all)] : all
  const name = random.pick(names)
  const lasts = random.skewed(5_000, longest)
  const hit = links.length === all.length ? "all" : (links[0]?.owner.name ?? "")
  note(`${server.name} ${name} for ${hit}, ${lasts / 1_000} ms`)
  const end = faults[name]?.(victims, server, links)
  if (end !== undefined) {
    timeline.at(
      timeline.now + lasts,
      undefined,
      () => {
        note(`${server.name} ${name} is over`)
        end()
      },
      false,
    )
  }
  return timeline.now + lasts
}
