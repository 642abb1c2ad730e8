// Holds keys to their rules: a store that wraps the layers of a limiter.

import { countingOf } from "../algorithms/index.js"
import { isPromise } from "../deferred.js"
import type { Policy } from "../policy.js"
import { warn } from "../runtime.js"
import type { PolicyRequest, Store, StoreReply, StoreRequest } from "../store.js"
import type { ActiveRule } from "./rule-index.js"

/** Finds the rule for a key of a limiter, by its escaped name. */
export type FindRule = (limiter: string, key: string) => ActiveRule | undefined

/** The receipt of a turn of an allowed key, which is in no queue. */
const noReceipt: readonly number[] = Object.freeze([])

/** The policies of a request with the rules for their keys. */
interface Applied {
  readonly policies: readonly PolicyRequest[]
  /** Which policies of the request these are. */
  readonly indices: readonly number[]
  readonly block: ActiveRule | undefined
}

export function ruleLayer(store: Store, find: FindRule, now: () => number): Store {
  /** The policies that a turn was booked under: it is given back under the same. */
  const bookedUnder = new WeakMap<readonly number[], readonly PolicyRequest[]>()

  /** Nothing if there is no rule for any of the keys. */
  const apply = (policies: readonly PolicyRequest[]): Applied | undefined => {
    let found = false
    let block: ActiveRule | undefined
    let last: PolicyRequest | undefined
    let rule: ActiveRule | undefined
    const rules: (ActiveRule | undefined)[] | undefined = policies.length > 1 ? [] : undefined
    for (let i = 0; i < policies.length; i += 1) {
      const each = policies[i] as PolicyRequest
      if (last === undefined || each.key !== last.key || each.ref.limiter !== last.ref.limiter) {
        rule = find(each.ref.limiter, each.key)
      }
      last = each
      rules?.push(rule)
      if (rule === undefined) continue
      found = true
      if (rule.action === "block") block = rule
    }
    if (!found) return undefined
    const kept: PolicyRequest[] = []
    const indices: number[] = []
    for (const [i, each] of policies.entries()) {
      const own = rules === undefined ? rule : rules[i]
      if (own?.action === "allow") continue
      kept.push(own === undefined ? each : overridden(each, own))
      indices.push(i)
    }
    return { policies: kept, indices, block }
  }

  const mapped = (policies: readonly PolicyRequest[]): readonly PolicyRequest[] => {
    const result = policies.map((each) => {
      const rule = find(each.ref.limiter, each.key)
      return rule === undefined ? each : overridden(each, rule)
    })
    return result
  }

  const blocked = ({ until }: ActiveRule): StoreReply => {
    const turn = until === Number.POSITIVE_INFINITY ? until : Math.max(Math.ceil(until - now()), 1) * 1_000
    return { granted: 0, levels: [], at: 0, turn, source: "rule" }
  }

  const decideBy = (request: StoreRequest, applied: Applied): StoreReply | PromiseLike<StoreReply> => {
    const { mode, count } = request
    if (applied.block !== undefined && mode !== "charge") return blocked(applied.block)
    const { policies, indices } = applied
    if (policies.length === 0) {
      return { granted: count, levels: [], at: 0, turn: 0, receipt: noReceipt, source: "rule" }
    }
    const explain = (reply: StoreReply): StoreReply => {
      if (reply.receipt !== undefined) bookedUnder.set(reply.receipt, policies)
      if (policies.length === request.policies.length) {
        return { ...reply, under: reply.under ?? policies.map(({ policy }) => policy) }
      }
      const levels: StoreReply["levels"][number][] = new Array(request.policies.length)
      const under: Policy[] = request.policies.map(({ policy }) => policy)
      for (const [j, i] of indices.entries()) {
        if (reply.levels[j] !== undefined) levels[i] = reply.levels[j]
        under[i] = reply.under?.[j] ?? (policies[j] as PolicyRequest).policy
      }
      return { ...reply, levels, under }
    }
    const reply = store.decide({ ...request, policies })
    return isPromise(reply) ? reply.then(explain) : explain(reply)
  }

  return {
    ...store,
    decide(request) {
      const applied = apply(request.policies)
      if (applied === undefined) return store.decide(request)
      if (request.inspect === undefined) return decideBy(request, applied)
      // What is stored does not depend on whether the key is blocked or allowed.
      return decideBy(request, { policies: mapped(request.policies), indices: [], block: undefined })
    },
    giveBack: (policies, at) => store.giveBack(mapped(policies), at),
    leave(turn) {
      if (turn.receipt === noReceipt) return
      const policies = bookedUnder.get(turn.receipt)
      return store.leave(policies === undefined ? turn : { ...turn, policies })
    },
    settle: (settlement) =>
      store.settle({ ...settlement, back: mapped(settlement.back), more: mapped(settlement.more) }),
    forget: (refs) => store.forget(refs),
  }
}

const warned = new Set<string>()

/** A policy as a rule has it. Another algorithm would start with an empty state: then the rule is not followed. */
function overridden(request: PolicyRequest, { policies }: ActiveRule): PolicyRequest {
  const policy = policies.get(request.ref.policy)
  if (policy === undefined) return request
  if (countingOf(policy).suffix === countingOf(request.policy).suffix) return { ...request, policy }
  if (!warned.has(request.ref.id) && warned.size < 100) {
    warned.add(request.ref.id)
    warn(
      `a rule for ${request.ref.id} has the algorithm ${policy.algorithm}, but the limiter has ${request.policy.algorithm}: the rule is ignored`,
    )
  }
  return request
}
