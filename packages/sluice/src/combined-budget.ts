import { type Behind, isOf, type Report, spansSlots } from "./claim.js"
import type { Combined, CombinedPending } from "./combine.js"
import { decide } from "./decide.js"
import type { Decision } from "./decision.js"
import { milliseconds } from "./duration.js"
import { checkFields } from "./errors.js"
import { letPass, unheard } from "./mode.js"
import { type Charge, debits, type Named, nothing } from "./policies.js"
import { newReservation, placeOfReservation, settlementOf } from "./reservation.js"
import type { StateRef } from "./state-key.js"
import type { PolicyRequest, Store, StoreReply } from "./store.js"

/** The policies of a claim, named by limiter and policy. */
function policiesOf({ limiter, key, policies }: Behind): Named {
  return policies().map(({ name, policy, ref }) => ({ name: `${limiter}:${name}`, policy, ref, key }))
}

/** The charges of one atomic step: all of them, or those of one claim if keys are in different slots. */
interface Step<Name extends string> {
  readonly policies: Charge<Name>[]
  /** Whether it cannot deny the others. */
  readonly isObserved: boolean
  /** The state that holds the note of the reservation. */
  note(id: string): StateRef
}

/** Reserves, settles and charges over the claims of a `combine`. */
export function budgetOver<Name extends string>({
  all,
  store,
  maxWait,
  asked,
  peek,
  report,
}: {
  all: readonly Behind[]
  store: Store
  maxWait: number
  asked: () => Charge<Name>[]
  peek: () => Promise<Decision<Name>>
  report: Report<Name>
}): Pick<Combined<Name>, "reserve" | "charge"> & { pending(id: string): CombinedPending<Name> } {
  const combined = () => all.flatMap(policiesOf)

  /** The claims that enforce and, in a step of their own, those that observe. */
  const groups = (): readonly (readonly Behind[])[] => {
    const observing = all.filter((behind) => behind.observes())
    return [all.filter((behind) => !observing.includes(behind)), observing]
  }

  const stepsOf = (policies: Charge<Name>[], [enforcing = [], observing = []] = groups()): Step<Name>[] =>
    [enforcing, observing].flatMap((group) => {
      const [first] = group
      if (first === undefined) return []
      const isObserved = group === observing
      const noteOf =
        ({ limiter, key }: Behind) =>
        (id: string) =>
          placeOfReservation(limiter, key, id)
      const ofGroup = group.length === all.length ? policies : policies.filter(isOfAny(group))
      if (!spansSlots(first.baseStore, ofGroup))
        return [{ policies: ofGroup, note: noteOf(first), isObserved }]
      const steps = group.map((behind) => ({
        policies: ofGroup.filter(isOf(behind)),
        note: noteOf(behind),
        isObserved,
      }))
      return steps.filter((step) => step.policies.length > 0)
    })

  const pending = (id: string, grouped?: ReturnType<typeof groups>): CombinedPending<Name> => {
    const settle = async (actual: unknown): Promise<boolean> => {
      const named = combined()
      const [first] = all as [Behind]
      const { back, more } = settlementOf({ id, limiter: first.limiter, key: "", maxWait }, named, actual)
      const every = named.map((each) => ({ ...each, cost: 1 }) as Charge<Name>)
      const settling = await Promise.allSettled(
        stepsOf(every, grouped).map(async ({ policies, note }) =>
          store.settle({
            ref: note(id),
            back: within(policies, back),
            more: within(policies, more),
            maxWait,
          }),
        ),
      )
      // The store settles each step only once, so after an error the caller can repeat all of them.
      return settling.map(outcomeOf).includes(true)
    }
    return { id, settle, cancel: async () => settle(nothing(combined())) }
  }

  return {
    async reserve(options = {}) {
      checkFields("INVALID_OPTION", "a reservation", options, ["ttl"])
      const lasts = milliseconds(options.ttl ?? "10m", "ttl", "INVALID_OPTION") * 1_000
      const charged = asked()
      const id = newReservation(charged)
      const grouped = groups()
      const reserved = pending(id, grouped)
      const steps = stepsOf(charged, grouped).filter((step) => step.policies.length > 0)
      let observed = false
      const replies: StoreReply[] = []
      for (const { policies, note, isObserved } of steps) {
        const request = { policies, count: 1, mode: "reserve", note: { ref: note(id), lasts } } as const
        const giveUp = () => (steps.length > 1 ? reserved.cancel().catch(() => {}) : undefined)
        const reply = await Promise.resolve(store.decide(request)).catch(async (error: unknown) => {
          if (isObserved) return unheard
          await giveUp()
          throw error
        })
        if (reply.granted === 0 && isObserved) observed ||= reply.source !== "fallback"
        else if (reply.granted === 0) {
          await giveUp()
          const denied = steps.length > 1 ? { ...(await peek()), allowed: false } : decide(charged, reply)
          return { decision: report("reserve", charged, denied), ...reserved }
        }
        replies.push(reply)
      }
      const decided = letPass(decide(charged, joined(steps, charged, replies)))
      const decision: Decision<Name> = observed ? { ...decided, observed: "denied" } : decided
      return { decision: report("reserve", charged, decision), ...reserved }
    },

    pending,

    async charge(cost) {
      const charged = debits<Name>(combined(), "", cost)
      const steps = stepsOf(charged, [all, []])
      const charging = await Promise.allSettled(
        steps.map(async ({ policies }) => store.decide({ policies, count: 1, mode: "charge", maxWait })),
      )
      const forOne = charged.map((charge) => ({ ...charge, cost: 1 }))
      return report("charge", charged, decide(forOne, joined(steps, charged, charging.map(outcomeOf))))
    },
  }
}

/** Whether a policy belongs to one of some claims. */
function isOfAny(behinds: readonly Behind[]): (policy: PolicyRequest) => boolean {
  const each = behinds.map(isOf)
  return (policy) => each.some((isOne) => isOne(policy))
}

function within(step: readonly PolicyRequest[], parts: readonly PolicyRequest[]): PolicyRequest[] {
  return parts.filter((part) => step.some(({ ref, key }) => ref === part.ref && key === part.key))
}

/** Joins the replies of all steps into one, in the order of the charges. */
function joined<Name extends string>(
  steps: readonly Step<Name>[],
  charged: readonly Charge<Name>[],
  replies: readonly StoreReply[],
): StoreReply {
  const [first] = replies as [StoreReply]
  if (replies.length === 1) return first
  const levels = charged.map((charge) => {
    const i = steps.findIndex(({ policies }) => policies.includes(charge))
    return (replies[i] as StoreReply).levels[(steps[i] as Step<Name>).policies.indexOf(charge)]
  })
  return {
    ...first,
    granted: Math.min(...replies.map(({ granted }) => granted)),
    levels: levels as StoreReply["levels"],
  }
}

function outcomeOf<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === "rejected") throw settled.reason
  return settled.value
}
