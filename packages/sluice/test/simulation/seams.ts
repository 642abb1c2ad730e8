import {
  type Answer,
  type Ask,
  type Part,
  type Place,
  type Settlement,
  SluiceError,
  type Store,
  type Turn,
} from "sluice"
import type { Guarded, Layers } from "../../src/store.js"
import type { GuardLaws } from "./guard-laws.js"
import type { Laws } from "./laws.js"
import { Holdings } from "./lease-laws.js"
import { signatureOf } from "./script-call.js"
import type { Owner } from "./timeline.js"

/** Something a test does to the layers, to break them on purpose. */
export interface Tampering {
  /** Between the outage layer and the next. */
  readonly beneathOutage?: (store: Store) => Store
  /** Between a deny cache and what asks it; `store` is what is beneath the cache. */
  readonly aboveDenyCache?: (cache: Store, store: Store) => Store
}

/** The store of a process, with somebody listening between all of its layers. */
export function listened(
  inner: Store,
  owner: Owner,
  laws: Laws,
  guardOf: () => GuardLaws,
  { beneathOutage = (store) => store, aboveDenyCache = (cache) => cache }: Tampering,
): Store {
  const bottom = listenAtBottom(inner, owner, laws)
  const { denyCache, leases, outage } = inner.layers as Required<Layers>
  return {
    ...bottom,
    layers: {
      ...(denyCache !== undefined && {
        denyCache: (store: Store) => aboveDenyCache(denyCache(store), store),
      }),
      leases(store, terms) {
        const holdings = new Holdings(owner.name, terms.share, laws.book)
        guardOf().holdings = holdings
        return leases(holdings.beneath(store), terms)
      },
      outage(store, terms) {
        const guard = guardOf()
        return listenAtTop(outage(beneathOutage(listenBeneath(store, guard)), terms), guard)
      },
    },
  }
}

/** Asks as they come to the store itself. */
function listenAtBottom(inner: Store, owner: Owner, { wire, balance, cache }: Laws): Store {
  const follow = async <T>(
    signature: string,
    count: number,
    call: () => T | PromiseLike<T>,
    granted: (value: T) => number,
  ): Promise<T> => {
    wire.issued(owner, signature, count)
    try {
      const value = await call()
      wire.told(owner, signature, granted(value))
      return value
    } catch (error) {
      wire.failed(owner, signature, count, error instanceof SluiceError ? error.code : String(error))
      throw error
    }
  }
  const give = async <T>(places: readonly Place[], given: () => Promise<T>): Promise<T> => {
    const end = cache.giftUnderWay(owner.name, places)
    try {
      return await given()
    } finally {
      end()
    }
  }
  const none = () => 0
  return {
    ...(inner.clock && { clock: inner.clock }),
    ask(ask: Ask) {
      const { parts, count, mode, maxWait = 0, note } = ask
      const spends = mode === "spend" || mode === "book" || mode === "reserve"
      const detail = mode === "book" || mode === "charge" ? maxWait : (note?.place.scope.id ?? "")
      return follow<Answer>(
        signatureOf(mode, parts, detail),
        count,
        () => inner.ask(ask),
        (answer) => {
          if (spends) balance.granted(owner.name, parts, answer.granted)
          return mode === "peek" ? 0 : answer.granted
        },
      )
    },
    giveBack(parts: readonly Part[], at?: number) {
      if (at !== undefined) balance.returned(owner.name, parts)
      const signature = signatureOf("give", parts, at ?? -1)
      return give(parts, () => follow(signature, 1, () => inner.giveBack(parts, at), none))
    },
    leave(turn: Turn) {
      balance.returned(owner.name, turn.parts)
      const signature = signatureOf("leave", turn.parts, turn.at)
      return give(turn.parts, () => follow(signature, 1, () => inner.leave(turn), none))
    },
    settle(settlement: Settlement) {
      const { place, back, more, maxWait } = settlement
      // one that nobody has asked for takes a reservation back that came too late
      if (maxWait === 0) balance.returned(owner.name, back)
      const signature = signatureOf("settle", [...back, ...more], place.scope.id)
      return give(back, () => follow(signature, 1, () => inner.settle(settlement), Number))
    },
    forget(places: readonly Place[]) {
      for (const place of places) balance.reset(owner.name, place)
      const signature = signatureOf("forget", places as readonly Part[], "")
      return give(places, () => follow(signature, 1, () => inner.forget(places), none))
    },
  }
}

/** What the outage layer asks of the layers beneath. */
function listenBeneath(inner: Store, guard: GuardLaws): Store {
  return {
    ...(inner.clock && { clock: inner.clock }),
    ask: (ask) => guard.beneath(() => inner.ask(ask), ask),
    giveBack: (parts, at) => guard.passing(() => guard.beneath(() => inner.giveBack(parts, at))),
    leave: (turn) => guard.beneath(() => inner.leave(turn)),
    settle: (settlement) => guard.beneath(() => inner.settle(settlement)),
    forget: (places) => guard.beneath(() => inner.forget(places)),
  }
}

/** What a limiter asks, and is told. */
function listenAtTop(inner: Guarded, guard: GuardLaws): Guarded {
  guard.health = () => inner.health
  return {
    ...(inner.clock && { clock: inner.clock }),
    get health() {
      return inner.health
    },
    ask: (ask) => guard.ask(ask, () => inner.ask(ask)),
    giveBack: (parts, at) => guard.order(() => inner.giveBack(parts, at)),
    leave: (turn) => guard.leave(turn, () => inner.leave(turn)),
    settle: (settlement) => guard.settle(settlement, () => inner.settle(settlement)),
    forget: (places) => guard.forget(places, () => inner.forget(places)),
  }
}
