import { SluiceError, type Store } from "sluice"
import type { PolicyRequest, Settlement, StateRef, StoreReply, StoreRequest, Turn } from "sluice/store"
import { type Layers, layersOf, withLayers } from "../../src/layers/compose.js"
import type { Guarded } from "../../src/layers/outage.js"
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
  const { denyCache, leases, outage } = layersOf(inner) as Required<Layers>
  return withLayers(bottom, {
    denyCache: (store) => aboveDenyCache(denyCache(store), store),
    leases(store, terms) {
      const holdings = new Holdings(owner.name, terms.share, laws.book)
      guardOf().holdings = holdings
      return leases(holdings.beneath(store), terms)
    },
    outage(store, terms, shardOf) {
      const guard = guardOf()
      return listenAtTop(outage(beneathOutage(listenBeneath(store, guard)), terms, shardOf), guard)
    },
  })
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
  const give = async <T>(stateRefs: readonly StateRef[], given: () => Promise<T>): Promise<T> => {
    const end = cache.giftUnderWay(owner.name, stateRefs)
    try {
      return await given()
    } finally {
      end()
    }
  }
  const none = () => 0
  return {
    ...(inner.clock && { clock: inner.clock }),
    ...(inner.shardOf && { shardOf: inner.shardOf }),
    denyCache: inner.denyCache !== false,
    decide(request: StoreRequest) {
      const { policies, count, mode, maxWait = 0, note } = request
      const spends = mode === "spend" || mode === "book" || mode === "reserve"
      const detail = mode === "book" || mode === "charge" ? maxWait : (note?.ref.ref.id ?? "")
      return follow<StoreReply>(
        signatureOf(mode, policies, detail),
        count,
        () => inner.decide(request),
        (reply) => {
          if (spends) balance.granted(owner.name, policies, reply.granted)
          return mode === "peek" ? 0 : reply.granted
        },
      )
    },
    giveBack(policies: readonly PolicyRequest[], at?: number) {
      if (at !== undefined) balance.returned(owner.name, policies)
      const signature = signatureOf("give", policies, at ?? -1)
      return give(policies, () => follow(signature, 1, () => inner.giveBack(policies, at), none))
    },
    leave(turn: Turn) {
      balance.returned(owner.name, turn.policies)
      const signature = signatureOf("leave", turn.policies, turn.at)
      return give(turn.policies, () => follow(signature, 1, () => inner.leave(turn), none))
    },
    settle(settlement: Settlement) {
      const { ref: stateRef, back, more, maxWait } = settlement
      // one that nobody has asked for takes a reservation back that came too late
      if (maxWait === 0) balance.returned(owner.name, back)
      const signature = signatureOf("settle", [...back, ...more], stateRef.ref.id)
      return give(back, () => follow(signature, 1, () => inner.settle(settlement), Number))
    },
    forget(stateRefs: readonly StateRef[]) {
      for (const stateRef of stateRefs) balance.reset(owner.name, stateRef)
      const signature = signatureOf("forget", stateRefs as readonly PolicyRequest[], "")
      return give(stateRefs, () => follow(signature, 1, () => inner.forget(stateRefs), none))
    },
  }
}

/** What the outage layer asks of the layers beneath. */
function listenBeneath(inner: Store, guard: GuardLaws): Store {
  return {
    ...(inner.clock && { clock: inner.clock }),
    decide: (request) => guard.beneath(() => inner.decide(request), request),
    giveBack: (policies, at) => guard.passing(() => guard.beneath(() => inner.giveBack(policies, at))),
    leave: (turn) => guard.beneath(() => inner.leave(turn)),
    settle: (settlement) => guard.beneath(() => inner.settle(settlement)),
    forget: (stateRefs) => guard.beneath(() => inner.forget(stateRefs)),
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
    decide: (request) => guard.ask(request, () => inner.decide(request)),
    giveBack: (policies, at) => guard.order(() => inner.giveBack(policies, at)),
    leave: (turn) => guard.leave(turn, () => inner.leave(turn)),
    settle: (settlement) => guard.settle(settlement, () => inner.settle(settlement)),
    forget: (stateRefs) => guard.forget(stateRefs, () => inner.forget(stateRefs)),
  }
}
