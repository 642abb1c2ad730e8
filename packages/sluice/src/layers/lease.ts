import { Background } from "../background.js"
import { isPromise } from "../later.js"
import type { Charge } from "../policies.js"
import { offerShortcut } from "../shortcut.js"
import type { Answer, Ask, Leases, Part, Store } from "../store.js"
import { anewBy, byStretch } from "../stretch.js"
import type { LeaseTerms } from "./lease-terms.js"
import { type Block, Lease, wordingFor } from "./leased-key.js"
import { PlaceMap } from "./place-map.js"

/** How many keys have leases; the others are asked for one by one. */
const MOST_KEYS = 10_000
const LONGEST_KEY = 256

/**
 * Spends from blocks that were debited from the store before: an ask of a busy key is answered here while its block
 * lasts, and by the store, one by one, when there is none. Blocks are taken in the background, ahead of need, as
 * large as the local rate asks for; what is left of one goes back when it has not been used for a while, when its
 * time is over, and on closing.
 */
export function leases(store: Store, { time, share }: LeaseTerms): Leases {
  const { clock = byStretch } = store
  const table = new PlaceMap<Lease>()
  // what cannot be given back stays spent, what cannot be taken is asked for
  const background = new Background()
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const giveBack = ({ parts, units, at }: Block) => {
    const left = parts
      .map((part, i) => ({ ...part, cost: units[i] as number }))
      .filter(({ cost }) => cost > 0)
    if (left.length > 0) background.run(() => store.giveBack(left, at))
  }

  /** Takes a block for asks like this one, if they are many enough and the limit is far enough. */
  const refill = (lease: Lease, parts: readonly Part[], now: number) => {
    const count = lease.wanted(parts, now)
    if (lease.filling || count < 2) return
    lease.filling = true
    const life = lease.life
    const receive = (answer: Answer) => {
      lease.filling = false
      const isForgotten = lease.life !== life
      if (!isForgotten) lease.learn(parts, answer, anewBy(clock)())
      if (answer.granted < count) lease.rest(now)
      if (answer.granted === 0) return
      const block = lease.blockOf(parts, answer, now)
      if (closed || isForgotten || block.isOver(clock())) giveBack(block)
      else lease.blocks.push(block)
    }
    const fail = () => {
      lease.filling = false
      lease.rest(now)
    }
    background.run(() => {
      try {
        const answer = store.ask({ parts, count, mode: "spend" })
        return isPromise(answer) ? answer.then(receive, fail) : receive(answer)
      } catch {
        return fail()
      }
    })
  }

  const askStore = (lease: Lease, ask: Ask): Answer | PromiseLike<Answer> => {
    const learn = (answer: Answer) => {
      lease.learn(ask.parts, answer, anewBy(clock)())
      return answer
    }
    const answer = store.ask(ask)
    return isPromise(answer) ? answer.then(learn) : learn(answer)
  }

  const leaseOf = ({ parts, mode }: Ask, now: number): Lease | undefined => {
    const first = parts[0] as Part
    const known = table.get(first.scope, first.key)
    if (known !== undefined) return known.isOf(parts) ? known : undefined
    if (mode === "peek" || table.size === MOST_KEYS || first.key.length > LONGEST_KEY || !leasable(parts))
      return undefined
    const lease = new Lease(parts, { time, share }, now)
    table.set(first.scope, first.key, lease)
    timer ??= setTimeout(sweep, time / 2).unref()
    return lease
  }

  /** Gives back what has run out or was not used since the last time, and forgets keys that are no longer asked. */
  const sweep = () => {
    background.run(() => {
      const now = clock()
      for (const lease of table.values()) {
        for (const block of lease.dropUnused(now)) giveBack(block)
        if (!lease.isIdle()) continue
        const { scope, key } = lease.parts[0] as Part
        table.delete(scope, key)
      }
    })
    timer = table.size > 0 ? setTimeout(sweep, time / 2).unref() : undefined
  }

  const leasing: Leases = {
    clock,

    ask(ask) {
      const { parts, count, mode } = ask
      const here = mode === "spend" || mode === "peek"
      if (!here || count !== 1 || parts.length === 0) return store.ask(ask)
      const now = clock()
      const lease = leaseOf(ask, now)
      if (lease === undefined) return store.ask(ask)
      for (let ended = lease.dropEnded(now); ended !== undefined; ended = lease.dropEnded(now))
        giveBack(ended)
      const block = lease.blockFor(parts)
      if (mode === "spend") {
        lease.count(now)
        block?.take(parts)
        if (lease.isLow(block)) refill(lease, parts, now)
      }
      return block === undefined ? askStore(lease, ask) : lease.answer(parts, block.at, now)
    },

    giveBack: (parts, at) => store.giveBack(parts, at),
    leave: (turn) => store.leave(turn),
    settle: (settlement) => store.settle(settlement),

    forget(places) {
      // what was debited before the store forgets is gone there, and goes back where it is not: the store can tell
      const drop = () => {
        for (const { scope, key } of places) table.get(scope, key)?.forget().forEach(giveBack)
      }
      drop()
      const done = store.forget(places)
      // nor can it be told here whether what was debited meanwhile was debited before or after
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
  return offerShortcut(leasing, (charged) => {
    const { scope } = charged[0] as Charge
    const wording = wordingFor(charged)
    return (key) => {
      const lease = table.get(scope, key)
      if (lease === undefined || !lease.isOf(charged)) return undefined
      const now = clock()
      const block = lease.blocks[0]
      // another block is taken by an ask, which is this one at the earliest
      const refills = !lease.filling && lease.blocks.length === 1
      if (block === undefined || block.isOver(now) || !block.spare(charged, refills)) return undefined
      lease.count(now)
      return lease.say(wording, block.at, now)
    }
  })
}

/** Whether a block of these can be taken: the outflow of a leaky bucket would not be even. */
function leasable(parts: readonly Part[]): boolean {
  const [first] = parts as [Part]
  return parts.every(
    ({ scope, key, policy }) =>
      policy.algorithm !== "leakyBucket" && key === first.key && scope.limiter === first.scope.limiter,
  )
}
