import { limitOf, periodOf } from "../support/policy-kinds.js"
import { fakeGlobals } from "./fake-globals.js"
import { strike } from "./faults.js"
import { Random } from "./random.js"
import { phaseOf, play } from "./traffic.js"
import { type Bug, type Recorded, World } from "./world.js"

/** What came of a seed. */
export interface Run {
  /** The same for the same seed. */
  readonly hash: string
  readonly lines: readonly string[]
  /** The law that was broken, if one was. */
  readonly broken: { readonly law: string; readonly what: string } | undefined
  readonly simulatedHours: number
  readonly recorded: readonly Recorded[]
}

const SECOND = 1_000_000
/** Microseconds that a fault lasts at the most. */
const LONGEST_FAULT = 20 * SECOND

class Broken extends Error {}

/** Runs the world of a seed to its end, or until a law is broken. */
export async function simulate(seed: number, bug: Bug = {}): Promise<Run> {
  const world = new World(seed, bug)
  const { book, timeline } = world
  const unhandled = (reason: unknown) => book.breach("no promise rejects unheard", String(reason))
  process.on("unhandledRejection", unhandled)
  const restore = fakeGlobals(timeline, new Random(seed, "globals"))
  const takeOut = bug.install?.()
  timeline.afterEvent = () => {
    world.laws.waiting.afterEvent()
    if (book.broken !== undefined) throw new Broken()
  }
  try {
    world.start(bug)
    await live(world, new Random(seed, "life"))
    await recover(world)
    await end(world)
  } catch (error) {
    if (!(error instanceof Broken)) throw error
  } finally {
    takeOut?.()
    restore()
    process.off("unhandledRejection", unhandled)
  }
  const { lines, hash, broken } = book
  return { hash, lines, broken, simulatedHours: timeline.now / 3_600 / SECOND, recorded: world.recorded }
}

/** Hours of traffic in phases, with faults among it. */
async function live(world: World, random: Random): Promise<void> {
  const { timeline, book, shape } = world
  const victims = world.victims(random)
  for (let time = SECOND; time < shape.duration; ) {
    const phase = phaseOf(random)
    timeline.at(time, undefined, () => {
      book.note("phase", phase.name)
      play(phase, world.alive, shape.servers > 1, random, timeline)
    })
    for (let i = random.pick(shape.stormy ? [2, 4, 6, 8] : [0, 0, 1, 1, 2, 3]); i > 0; i -= 1) {
      const at = time - SECOND + random.integer(0, phase.lasts + SECOND)
      timeline.at(at, undefined, () => strike(victims, LONGEST_FAULT), false)
    }
    const idle = random.chance(0.35) ? random.integer(0, 5 * SECOND) : random.integer(0, 2_400 * SECOND)
    time += phase.lasts + idle
  }
  await timeline.runUntil(shape.duration + 2 * LONGEST_FAULT)
}

/** Once all faults are over, every limiter is exact again, and nothing is lost for ever. */
async function recover({ timeline, alive: players, book, guards, shape }: World): Promise<void> {
  book.note("phase", "recovery")
  const longest = Math.max(...shape.limiters.map(({ maxWait, deadline }) => maxWait + deadline)) * 1_000
  await timeline.runUntil(timeline.now + longest + 10 * SECOND)
  for (const player of players) {
    book.require(player.pending === 0, "every call is over", () => `${player.owner.name}: ${player.pending}`)
    for (const key of player.limiter.keys) {
      timeline.at(timeline.now, player.owner, () => {
        player.tryAcquire(key, 1).then((decision) => {
          book.require(decision?.degraded === false, "a store that is back is used again", () => {
            return `${player.owner.name} ${player.limiter.name} ${key}`
          })
        })
      })
      await timeline.runUntil(timeline.now + 500_000)
    }
  }
  for (const guard of guards) if (!guard.owner.dead) guard.checkEnd()
  const periods = shape.limiters.flatMap(({ policies }) => Object.values(policies).map(periodOf))
  // whatever was spent, booked or owed
  await timeline.runUntil(timeline.now + longest + 4 * Math.max(...periods))
  for (const limiter of shape.limiters) {
    const player = players.find((each) => each.limiter === limiter)
    const cost = Math.min(...Object.values(limiter.policies).map(limitOf))
    for (const key of limiter.keys) {
      timeline.at(timeline.now, player?.owner, () => {
        player?.tryAcquire(key, cost).then((decision) => {
          const whole = decision?.allowed === true && !decision.degraded
          book.require(whole, "what was spent comes back", () => `${limiter.name} ${key}, all of ${cost}`)
        })
      })
    }
    await timeline.runUntil(timeline.now + 5 * SECOND)
  }
}

/** Closes everything: nothing is left that would keep a process alive, or wake it. */
async function end({ timeline, alive: players, owners: all, book, laws }: World): Promise<void> {
  const owners = all.filter(({ dead }) => !dead)
  book.note("phase", "end")
  const open = new Map(
    owners.map((owner) => [owner, players.filter((player) => player.owner === owner).length]),
  )
  for (const player of players) {
    const { owner } = player
    const closed = () => {
      const left = (open.get(owner) as number) - 1
      open.set(owner, left)
      const { name, keptAlive } = owner
      book.require(
        left > 0 || keptAlive === 0,
        "no timer keeps a closed process alive",
        () => `${name}: ${keptAlive}`,
      )
    }
    timeline.at(timeline.now, owner, () => player.close().then(closed))
  }
  await timeline.runUntil(timeline.now + 3 * SECOND)
  book.require(
    [...open.values()].every((left) => left === 0),
    "closing ends",
    () => "not all are closed",
  )
  await timeline.runUntil(timeline.now + 120 * SECOND)
  for (const { name, timers } of owners) {
    book.require(timers === 0, "no timer is left", () => `${name}: ${timers}`)
  }
  laws.checkEnd(owners)
}
