import type { Policy } from "sluice"
import type { PolicyRequest, StoreRequest, Turn } from "sluice/store"
import type { Change } from "../support/turn-players.js"

/** A planted bug in bookings, debt or giving back that the search must find. */
export interface TurnBreakage {
  readonly name: string
  readonly change: Change
}

const looser = (policy: Policy): Policy =>
  "limit" in policy ? { ...policy, limit: policy.limit + 1 } : { ...policy, capacity: policy.capacity + 1 }

export const oneUnitMore: TurnBreakage = {
  name: "one unit more",
  change: (store) => {
    const loosened = (policies: readonly PolicyRequest[]) =>
      policies.map((policy) => ({ ...policy, policy: looser(policy.policy) }))
    return {
      ...store,
      decide: (request) => store.decide({ ...request, policies: loosened(request.policies) }),
      leave: (turn) => store.leave({ ...turn, policies: loosened(turn.policies) }),
    }
  },
}

export const twiceLeft: TurnBreakage = {
  name: "a turn that two others get when it is left",
  change: (store) => ({
    ...store,
    leave(turn) {
      store.leave(turn)
      // Not a second `leave`, which the store would ignore.
      store.giveBack(turn.policies)
    },
  }),
}

export const leftAsGift: TurnBreakage = {
  name: "a turn that is given back as a gift would be",
  change: (store) => ({ ...store, leave: ({ policies }: Turn) => store.giveBack(policies) }),
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

/** Gives every waiter but the first a turn that is a little too early. */
export const toldTooSoon: TurnBreakage = {
  name: "turns that are told to be nearer than they are",
  change: (store) => ({
    ...store,
    decide(request: StoreRequest) {
      const reply = store.decide(request)
      const { turn, at } = reply
      return turn === undefined || turn === at ? reply : { ...reply, turn: at + Math.floor((turn - at) / 2) }
    },
  }),
}

export const shortestFirst: TurnBreakage = {
  name: "a line that lets the last of them go first",
  change: (store) => {
    let latest = 0
    return {
      ...store,
      decide(request: StoreRequest) {
        const reply = store.decide(request)
        if (reply.granted === 0 || reply.turn === undefined) return reply
        const swapped = reply.turn > latest && latest > reply.at
        latest = reply.turn
        return swapped ? { ...reply, turn: reply.at } : reply
      },
    }
  },
}

export const oneMicrosecondUp: TurnBreakage = {
  name: "drips that are rounded up",
  change: (store) => ({
    ...store,
    decide(request: StoreRequest) {
      const reply = store.decide(request)
      return reply.turn === undefined || reply.turn === reply.at ? reply : { ...reply, turn: reply.turn + 1 }
    },
  }),
}

export const forgetsOnTheWayBack: TurnBreakage = {
  name: "a store that forgets what a clock that went back cannot explain",
  change: (store) => {
    let latest = 0
    return {
      ...store,
      decide(request: StoreRequest) {
        const { at } = store.decide({ ...request, mode: "peek", count: 1 })
        if (at < latest) store.forget(request.policies)
        latest = Math.max(latest, at)
        return store.decide(request)
      },
    }
  },
}
