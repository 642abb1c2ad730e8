import { strict as assert } from "node:assert"
import { decide } from "../../decide.js"
import type { Decision } from "../../decision.js"
import { charges, namePolicies, type Policies } from "../../policies.js"
import { policyRef } from "../../state-key.js"
import type { PolicyRequest, Store, StoreReply, StoreRequest, Turn } from "../../store.js"
import { costOfEach, type Rig, type Subject } from "./rig.js"

/** The default `maxWait` of bookings, in milliseconds. */
export const FAR = 60_000

/** Calls one store of a rig directly, without a limiter. Times are milliseconds. Key `"k"` by default. */
export interface StoreDriver {
  request(mode: "spend" | "peek" | "charge", cost: number, key?: string): Promise<Decision>
  /** Books a turn. Returns the store's reply and its decision. */
  tryBook(cost: number, maxWait?: number, key?: string): Promise<StoreReply & { readonly decision: Decision }>
  /** Books a turn, and fails if it is denied. */
  book(cost: number, key?: string): Promise<Turn>
  leave(turn: Turn): Promise<void>
}

/** A driver that uses the state of limiter `"conformance"` with these policies. */
export function storeDriver(rig: Rig, policies: Policies, store = 0): StoreDriver {
  const to = rig.stores[store % rig.stores.length] as Store
  const named = namePolicies(policies, (name) => policyRef("conformance", name))
  const chargesOf = (key: string, cost: number) => charges(named, key, costOfEach(policies, cost))

  const tryBook = async (cost: number, maxWait = FAR, key = "k") => {
    const policies = chargesOf(key, cost)
    const reply = await to.decide({ policies, count: 1, mode: "book", maxWait: maxWait * 1_000 })
    return { ...reply, decision: decide(policies, reply) }
  }

  return {
    async request(mode, cost, key = "k") {
      const policies = chargesOf(key, cost)
      const request: StoreRequest = { policies, count: 1, mode, maxWait: 0 }
      const explained = mode === "charge" ? policies.map((policy) => ({ ...policy, cost: 1 })) : policies
      return decide(explained, await to.decide(request))
    },
    tryBook,
    async book(cost, key = "k") {
      const { granted, turn, receipt } = await tryBook(cost, FAR, key)
      assert.equal(granted, 1)
      assert.ok(turn !== undefined && receipt !== undefined)
      const policies: readonly PolicyRequest[] = chargesOf(key, cost)
      return { policies, at: turn, receipt }
    },
    leave: async (turn) => to.leave(turn),
  }
}

/** Milliseconds from now to a turn. */
export function untilTurn({ clock }: Rig, { at }: Pick<Turn, "at">): number {
  return at / 1_000 - clock()
}

/** Whether the policy is a queue. Waiters of a leaky bucket take room in it, so a test must not fill it completely. */
export const isQueue = ({ policy }: Subject) => policy.algorithm === "leakyBucket"

/** Spends the whole limit, so that no request passes at once. In a queue it leaves room for three. */
export async function fill(driver: StoreDriver, subject: Subject, key = "k"): Promise<void> {
  assert.equal((await driver.request("spend", isQueue(subject) ? 7 : 10, key)).allowed, true)
}

/** Checks that two keys give the same decisions, for several costs, over two periods. */
export async function sameFromNowOn(
  { clock }: Rig,
  driver: StoreDriver,
  keys: readonly [string, string],
  period: number,
) {
  const [one, other] = keys
  for (let i = 0; i <= 40; i += 1) {
    for (const cost of [1, 5, 10]) {
      assert.deepEqual(await driver.request("peek", cost, one), await driver.request("peek", cost, other))
    }
    clock.advance(period / 20)
  }
}
