import { limitOf } from "../support/policy-kinds.js"
import type { Player } from "./player.js"
import type { Random } from "./random.js"
import type { Timeline } from "./timeline.js"

/** A stretch of time in which something is asked for. */
export interface Phase {
  readonly name: string
  /** Microseconds. */
  readonly lasts: number
  readonly calls: number
  /** What each call is, as shares of all. */
  readonly mix: Readonly<Partial<Record<Move, number>>>
  /** Whether all use one key. */
  readonly hot: boolean
}

export type Move = keyof typeof moves

const SECOND = 1_000_000

const phases: readonly ((random: Random) => Phase)[] = [
  (random) => ({
    name: "steady",
    lasts: random.integer(2, 20) * SECOND,
    calls: random.integer(10, 40),
    mix: {
      ask: 6,
      partly: 1,
      combine: 1,
      peek: 1,
      reserve: 1,
      wait: 1,
      charge: 0.3,
      refund: 0.2,
      reset: 0.1,
    },
    hot: false,
  }),
  (random) => ({
    name: "burst",
    lasts: random.integer(1, 200) * 1_000,
    calls: random.integer(20, 60),
    mix: { ask: 8, wait: 1, peek: 0.5, combine: 0.5 },
    hot: random.chance(0.5),
  }),
  (random) => ({
    name: "hot key",
    lasts: random.integer(500, 3_000) * 1_000,
    calls: random.integer(60, 150),
    mix: { ask: 10, partly: 1, refund: 0.1, reset: 0.05, charge: 0.1 },
    hot: true,
  }),
  (random) => ({
    name: "waiters",
    lasts: random.integer(100, 8_000) * 1_000,
    calls: random.integer(10, 50),
    mix: { wait: 6, impatient: 4, ask: 1 },
    hot: random.chance(0.7),
  }),
  (random) => ({
    name: "budgets",
    lasts: random.integer(2, 10) * SECOND,
    calls: random.integer(10, 30),
    mix: { reserve: 6, ask: 2, charge: 0.5, refund: 0.3, reset: 0.1, peek: 0.5 },
    hot: random.chance(0.5),
  }),
]

export function phaseOf(random: Random): Phase {
  return random.pick(phases)(random)
}

/** One call of a kind; `others` are the same limiter in all processes. */
interface Made {
  readonly player: Player
  readonly others: readonly Player[]
  /** Other limiters in the same process, that can be asked in one step. */
  readonly neighbours: readonly Player[]
  readonly key: string
  readonly cost: number
  readonly random: Random
  readonly timeline: Timeline
}

const moves = {
  ask: ({ player, key, cost }: Made) => player.tryAcquire(key, cost),
  /** Under one of several policies, as one who asks for tokens and no request. */
  partly({ player, key, cost, random }: Made) {
    const names = Object.keys(player.limiter.policies)
    const skipped = random.pick(names)
    player.tryAcquire(key, names.length > 1 ? { [skipped]: 0 } : cost)
  },
  peek: ({ player, key, cost }: Made) => player.peek(key, cost),
  charge: ({ player, key, cost }: Made) => player.charge(key, cost * 2),
  refund: ({ player, key, cost }: Made) => player.refund(key, cost),
  reset: ({ player, key }: Made) => player.reset(key),
  combine({ player, neighbours, key, random }: Made) {
    const other = random.pick(neighbours)
    // in a Cluster their keys may lie in different slots, which no one step reaches
    if (other === undefined) player.tryAcquire(key, 1)
    else player.combine(other, key, random.pick(other.limiter.keys))
  },
  wait: ({ player, key, cost, random }: Made) =>
    player.wait(key, cost, random.chance(0.3) ? random.integer(1, 3_000) : undefined, undefined),
  impatient: ({ player, key, cost, random }: Made) =>
    player.wait(key, cost, undefined, random.skewed(1, 5_000)),
  reserve({ player, others, key, cost, random, timeline }: Made) {
    player.reserve(key, cost, (settle) => {
      const by = random.chance(0.7) ? player : random.pick(others)
      const actual = random.integer(0, cost + 1)
      const times = random.chance(0.1) ? 2 : 1
      for (let i = 0; i < times; i += 1) {
        const at = timeline.now + random.skewed(1_000, 20 * SECOND)
        timeline.at(at, by.owner, () => settle(by, actual))
      }
    })
  },
}

/** Sets the calls of a phase, by any of the players, from now on. */
export function play(
  phase: Phase,
  players: readonly Player[],
  clustered: boolean,
  random: Random,
  timeline: Timeline,
): void {
  const favourite = random.pick(players)
  const hotKey = random.pick(favourite.limiter.keys)
  // one or two processes, or all of them
  const same = players.filter(({ limiter }) => limiter === favourite.limiter)
  const chosen = same.slice(0, random.integer(1, same.length))
  for (let i = 0; i < phase.calls; i += 1) {
    const player = random.pick(phase.hot ? chosen : players)
    const { limiter, owner } = player
    const key = phase.hot ? hotKey : random.pick(limiter.keys)
    const least = Math.min(...Object.values(limiter.policies).map(limitOf))
    const most = random.chance(0.75) ? 1 : random.chance(0.75) ? Math.min(4, least) : least
    const cost = random.integer(1, most)
    const others = players.filter((other) => other.limiter === limiter)
    const neighbours = clustered
      ? []
      : players.filter((other) => other.owner === owner && other.limiter !== limiter)
    const move = moves[moveOf(phase.mix, random)]
    const made = { player, others, neighbours, key, cost, random, timeline }
    timeline.at(timeline.now + random.integer(0, phase.lasts), owner, () => move(made))
  }
}

function moveOf(mix: Phase["mix"], random: Random): Move {
  const entries = Object.entries(mix) as [Move, number][]
  let left = random.next() * entries.reduce((sum, [, share]) => sum + share, 0)
  for (const [move, share] of entries) {
    left -= share
    if (left <= 0) return move
  }
  return "ask"
}
