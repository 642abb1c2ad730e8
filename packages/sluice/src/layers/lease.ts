import { Background } from "../background.js"
import { monotonic } from "../clock.js"
import { isPromise } from "../deferred.js"
import { listener } from "../events.js"
import { unref } from "../runtime.js"
import { KeyMap } from "../state-key.js"
import type { PolicyRequest, Store, StoreReply, StoreRequest } from "../store.js"
import type { LeaseSettings } from "./lease-options.js"
import { type Block, Lease } from "./leased-key.js"

/** How many keys can have leases. Requests for other keys go to the store one by one. */
const MOST_KEYS = 10_000
const LONGEST_KEY = 256

/** A store that spends from leases. Close it when it is no longer used. */
export interface Leases extends Store {
  /** Gives the unspent units back to the store. */
  close(): Promise<void>
}

/**
 * Spends from blocks of units that the store has granted in advance. A busy key is decided locally while it has a block.
 * Without a block, each request goes to the store.
 *
 * Blocks are fetched in the background before they are needed, in a size that follows the local rate. The unspent rest of a
 * block goes back when it is unused for a while, when its time ends, and on close.
 */
export function leases(store: Store, { time, share }: LeaseSettings): Leases {
  const { clock = monotonic } = store
  const table = new KeyMap<Lease>()
  // Failures need no handling: units that cannot be given back stay spent, and without a block the store decides.
  const background = new Background()
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const tell = (change: "taken" | "returned", { units }: Block) =>
    listener?.emit({ type: "lease", change, units: units.reduce((sum, each) => sum + each) })

  const giveBack = (block: Block) => {
    if (listener !== undefined) tell("returned", block)
    const { parts: policies, units, at } = block
    const left = policies
      .map((policy, i) => ({ ...policy, cost: units[i] as number }))
      .filter(({ cost }) => cost > 0)
    if (left.length > 0) background.run(() => store.giveBack(left, at))
  }

  /** Fetches a block for requests like this one, if they are frequent and enough of the limit remains. */
  const refill = (lease: Lease, asked: readonly PolicyRequest[], now: number) => {
    const count = lease.wanted(asked, now)
    if (lease.filling || count < 2) return
    const policies = lease.kept(asked)
    lease.filling = true
    const life = lease.life
    const receive = (reply: StoreReply) => {
      lease.filling = false
      const isForgotten = lease.life !== life
      if (!isForgotten) lease.learn(policies, reply, clock())
      if (reply.granted < count) lease.rest(now)
      if (reply.granted === 0) return
      const block = lease.blockOf(policies, reply, now)
      if (listener !== undefined) tell("taken", block)
      if (closed || isForgotten || block.isOver(clock())) giveBack(block)
      else lease.blocks.push(block)
    }
    const fail = () => {
      lease.filling = false
      lease.rest(now)
    }
    background.run(() => {
      try {
        const reply = store.decide({ policies, count, mode: "spend" })
        return isPromise(reply) ? reply.then(receive, fail) : receive(reply)
      } catch {
        return fail()
      }
    })
  }

  const askStore = (lease: Lease, request: StoreRequest): StoreReply | PromiseLike<StoreReply> => {
    const learn = (reply: StoreReply) => {
      lease.learn(request.policies, reply, clock())
      return reply
    }
    const answer = store.decide(request)
    return isPromise(answer) ? answer.then(learn) : learn(answer)
  }

  const leaseOf = ({ policies, mode }: StoreRequest, now: number): Lease | undefined => {
    const first = policies[0] as PolicyRequest
    const known = table.get(first.ref, first.key)
    if (known !== undefined) return known.isOf(policies) ? known : undefined
    if (mode === "peek" || table.size === MOST_KEYS || first.key.length > LONGEST_KEY || !leasable(policies))
      return undefined
    const lease = new Lease(policies, { time, share }, now)
    table.set(first.ref, (lease.parts[0] as PolicyRequest).key, lease)
    timer ??= unref(setTimeout(sweep, time / 2))
    return lease
  }

  /** Gives back blocks that ended or were not used since the last sweep, and forgets idle keys. */
  const sweep = () => {
    background.run(() => {
      const now = clock()
      for (const lease of table.values()) {
        for (const block of lease.dropUnused(now)) giveBack(block)
        if (!lease.isIdle()) continue
        const { ref, key } = lease.parts[0] as PolicyRequest
        table.delete(ref, key)
      }
    })
    timer = table.size > 0 ? unref(setTimeout(sweep, time / 2)) : undefined
  }

  return {
    clock,

    decide(request) {
      const { policies, count, mode } = request
      const here = mode === "spend" || mode === "peek"
      if (!here || count !== 1 || policies.length === 0 || request.inspect !== undefined) {
        return store.decide(request)
      }
      const now = clock()
      const lease = leaseOf(request, now)
      if (lease === undefined) return store.decide(request)
      for (let ended = lease.dropEnded(now); ended !== undefined; ended = lease.dropEnded(now))
        giveBack(ended)
      const block = lease.blockFor(policies)
      if (mode === "spend") {
        lease.count(now)
        block?.take(policies)
        if (lease.isLow(block)) refill(lease, policies, now)
      }
      return block === undefined ? askStore(lease, request) : lease.answer(policies, block.at, now)
    },

    giveBack: (policies, at) => store.giveBack(policies, at),
    leave: (turn) => store.leave(turn),
    settle: (settlement) => store.settle(settlement),

    forget(stateRefs) {
      // Give back all blocks. The store ignores units that were debited before its reset.
      const drop = () => {
        for (const { ref, key } of stateRefs) table.get(ref, key)?.forget().forEach(giveBack)
      }
      drop()
      const done = store.forget(stateRefs)
      // Drop again after the reset: a block that arrived meanwhile may have been debited before or after it.
      if (isPromise(done)) done.then(drop, drop)
      return done
    },

    async close() {
      closed = true
      clearTimeout(timer)
      for (const lease of table.values()) for (const block of lease.dropAll()) giveBack(block)
      await background.settled()
    },
  }
}

/** Whether the policies can be leased: one key, and no leaky bucket, because blocks would make its outflow uneven. */
function leasable(policies: readonly PolicyRequest[]): boolean {
  const [first] = policies as [PolicyRequest]
  return policies.every(
    ({ ref, key, policy }) =>
      policy.algorithm !== "leakyBucket" && key === first.key && ref.limiter === first.ref.limiter,
  )
}
