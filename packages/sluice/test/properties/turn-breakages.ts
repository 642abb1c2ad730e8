import type { Ask, Part, Policy, Turn } from "sluice"
import type { Change } from "../support/turn-players.js"

/** A way to book, to owe or to give back wrong, that a search must notice. */
export interface TurnBreakage {
  readonly name: string
  readonly change: Change
}

const looser = (policy: Policy): Policy =>
  "limit" in policy ? { ...policy, limit: policy.limit + 1 } : { ...policy, capacity: policy.capacity + 1 }

export const oneUnitMore: TurnBreakage = {
  name: "one unit more",
  change: (store) => {
    const loosened = (parts: readonly Part[]) =>
      parts.map((part) => ({ ...part, policy: looser(part.policy) }))
    return {
      ...store,
      ask: (ask) => store.ask({ ...ask, parts: loosened(ask.parts) }),
      leave: (turn) => store.leave({ ...turn, parts: loosened(turn.parts) }),
    }
  },
}

export const twiceLeft: TurnBreakage = {
  name: "a turn that two others get when it is left",
  change: (store) => ({
    ...store,
    leave(turn) {
      store.leave(turn)
      store.leave(turn)
    },
  }),
}

export const leftAsGift: TurnBreakage = {
  name: "a turn that is given back as a gift would be",
  change: (store) => ({ ...store, leave: ({ parts }: Turn) => store.giveBack(parts) }),
}

export const settledAsGift: TurnBreakage = {
  name: "a settlement that gives back whatever was debited since",
  change: (store) => ({
    ...store,
    settle(settlement) {
      if (!store.settle({ ...settlement, back: [] })) return false
      store.giveBack(settlement.back)
      return true
    },
  }),
}

export const neverLeft: TurnBreakage = {
  name: "turns that are not given back",
  change: (store) => ({ ...store, leave() {} }),
}

/** Everybody but the first in line is told to come a little sooner. */
export const toldTooSoon: TurnBreakage = {
  name: "turns that are told to be nearer than they are",
  change: (store) => ({
    ...store,
    ask(ask: Ask) {
      const answer = store.ask(ask)
      const { turn, at } = answer
      return turn === undefined || turn === at
        ? answer
        : { ...answer, turn: at + Math.floor((turn - at) / 2) }
    },
  }),
}

export const shortestFirst: TurnBreakage = {
  name: "a line that lets the last of them go first",
  change: (store) => {
    let latest = 0
    return {
      ...store,
      ask(ask: Ask) {
        const answer = store.ask(ask)
        if (answer.granted === 0 || answer.turn === undefined) return answer
        const swapped = answer.turn > latest && latest > answer.at
        latest = answer.turn
        return swapped ? { ...answer, turn: answer.at } : answer
      },
    }
  },
}

export const oneMicrosecondUp: TurnBreakage = {
  name: "drips that are rounded up",
  change: (store) => ({
    ...store,
    ask(ask: Ask) {
      const answer = store.ask(ask)
      return answer.turn === undefined || answer.turn === answer.at
        ? answer
        : { ...answer, turn: answer.turn + 1 }
    },
  }),
}

export const forgetsOnTheWayBack: TurnBreakage = {
  name: "a store that forgets what a clock that went back cannot explain",
  change: (store) => {
    let latest = 0
    return {
      ...store,
      ask(ask: Ask) {
        const { at } = store.ask({ ...ask, mode: "peek", count: 1 })
        if (at < latest) store.forget(ask.parts)
        latest = Math.max(latest, at)
        return store.ask(ask)
      },
    }
  },
}
