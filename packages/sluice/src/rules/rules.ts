import { countingOf } from "../algorithms/index.js"
import { checkStore } from "../check-store.js"
import { type Duration, milliseconds } from "../duration.js"
import { checkFields, SluiceError, shown } from "../errors.js"
import type { RuleSource } from "../limiter.js"
import { type Named, namePolicies, type Policies } from "../policies.js"
import type { Policy } from "../policy.js"
import { escaped, policyRef } from "../state-key.js"
import type { Store } from "../store.js"
import { fieldOf, parseField, RuleBook, type StoredRule } from "./rule-book.js"
import type { Target } from "./rule-index.js"
import { ruleLayer } from "./rule-layer.js"

/** What keys a rule is for: one, or all that begin alike. */
export interface RuleTarget {
  readonly limiter: string
  readonly key?: string | undefined
  /** A prefix and a star, such as `"acme:*"`. */
  readonly pattern?: string | undefined
}

export interface RuleNotes {
  /** When the rule ends: a moment, or how long from now. Left out: never. */
  readonly until?: Date | Duration | undefined
  readonly reason?: string | undefined
  readonly by?: string | undefined
}

export interface RuleChoice extends RuleTarget, RuleNotes {
  /** Policies in place of the limiter's policies of the same names. */
  readonly policy: Policies
}

/** A rule that is in force. */
export interface Rule extends RuleTarget {
  readonly action: "limit" | "block" | "allow"
  readonly policies?: Readonly<Record<string, Policy>>
  readonly until?: Date
  readonly reason?: string
  readonly by?: string
}

/** What somebody did to a rule, and when. */
export interface Change extends RuleTarget {
  readonly version: number
  readonly at: Date
  readonly action: Rule["action"] | "remove"
  readonly policies?: Readonly<Record<string, Policy>>
  readonly until?: Date
  readonly reason?: string
  readonly by?: string
}

/** Exceptions for single keys and prefixes, on one store. */
export interface Rules extends RuleSource {
  /** Resolves when the rules have been read once. It rejects if the store does not answer; reading goes on all the same. */
  readonly ready: Promise<void>
  /** Gives keys other policies. An algorithm cannot be changed, because the new one would start with an empty state. */
  set(rule: RuleChoice): Promise<void>
  /** Denies every request of the keys. */
  block(rule: RuleTarget & RuleNotes): Promise<void>
  /** Lets every request of the keys pass, and charges nothing. */
  allow(rule: RuleTarget & RuleNotes): Promise<void>
  /** Removes the rule of this key or pattern. False if there was none. */
  remove(rule: RuleTarget & Pick<RuleNotes, "reason" | "by">): Promise<boolean>
  /** The rules in force, as this process knows them. */
  list(filter?: { readonly limiter?: string | undefined }): Rule[]
  /** The rule that a key is held to, if there is one. */
  find(limiter: string, key: string): Rule | undefined
  /** The latest changes, newest first; the store keeps 1,000. */
  history(options?: {
    readonly limiter?: string | undefined
    readonly count?: number | undefined
  }): Promise<Change[]>
  /** Reads the rules now, without waiting for the next poll. */
  refresh(): Promise<void>
  /** Stops reading. */
  close(): void
}

/** Longer patterns would make every decision look for more prefixes. */
const LONGEST_TARGET = 256

/** Reads and changes the rules of a store: `createLimiter({ …, store, rules: createRules(store) })`. */
export function createRules(store: Store): Rules {
  checkStore(store)
  const book = RuleBook.of(store)
  /** The policies of limiters in this process, by name. */
  const known = new Map<string, Named>()
  const ready = book.use()
  ready.catch(() => {})
  let closed = false

  const put = (what: string, options: RuleTarget & RuleNotes, rule: StoredRule) => {
    const { limiter } = options
    const target = targetOf(what, options)
    const until = untilOf(options.until, book.now())
    const stored: StoredRule = { ...rule, ...(until !== undefined && { until }), ...notesOf(options) }
    return book.write([{ field: fieldOf(limiter, target), value: JSON.stringify(stored) }])
  }

  return {
    ready,
    async set(options) {
      const fields = ["limiter", "key", "pattern", "policy", "until", "reason", "by"]
      checkFields("INVALID_OPTION", "a rule", options, fields)
      const { limiter, policy } = options
      const named = namePolicies(policy, (name) => policyRef(String(limiter), name))
      const own = known.get(limiter)
      if (own !== undefined) for (const each of named) checkAgainst(own, each, limiter)
      const policies = Object.fromEntries(named.map((each) => [each.name, each.policy]))
      await put("a rule", options, { action: "limit", policies })
    },
    async block(options) {
      checkFields("INVALID_OPTION", "a block", options, [
        "limiter",
        "key",
        "pattern",
        "until",
        "reason",
        "by",
      ])
      await put("a block", options, { action: "block" })
    },
    async allow(options) {
      checkFields("INVALID_OPTION", "an allow", options, [
        "limiter",
        "key",
        "pattern",
        "until",
        "reason",
        "by",
      ])
      await put("an allow", options, { action: "allow" })
    },
    async remove(options) {
      checkFields("INVALID_OPTION", "a removal", options, ["limiter", "key", "pattern", "reason", "by"])
      const field = fieldOf(options.limiter, targetOf("a removal", options))
      await book.refresh()
      if (!book.stored.has(field)) return false
      await book.write([{ field, value: "", note: notesOf(options) }])
      return true
    },
    list({ limiter } = {}) {
      const now = book.now()
      const rules: Rule[] = []
      for (const [field, stored] of book.stored) {
        const of = parseField(field)
        if (limiter !== undefined && of.limiter !== limiter) continue
        if (stored.until === undefined || stored.until > now) rules.push(ruleOf(of, stored))
      }
      return rules
    },
    find(limiter, key) {
      const active = (target: Target) => {
        const stored = book.stored.get(fieldOf(limiter, target))
        const isActive = stored !== undefined && (stored.until === undefined || stored.until > book.now())
        return isActive ? ruleOf({ limiter, target }, stored) : undefined
      }
      const exact = active({ isPrefix: false, text: key })
      for (
        let length = Math.min(key.length, LONGEST_TARGET);
        exact === undefined && length >= 0;
        length -= 1
      ) {
        const rule = active({ isPrefix: true, text: key.slice(0, length) })
        if (rule !== undefined) return rule
      }
      return exact
    },
    async history({ limiter, count = 100 } = {}) {
      const entries = await book.history(limiter === undefined ? count : 1_000)
      const changes = entries.map(({ version, at, field, value, ...notes }): Change => {
        const of = parseField(field)
        if (value !== "") return { version, at: new Date(at), ...ruleOf(of, JSON.parse(value) as StoredRule) }
        const { limiter, target } = of
        const said = notes as Pick<RuleNotes, "reason" | "by">
        return {
          version,
          at: new Date(at),
          limiter,
          ...targetFields(target),
          action: "remove",
          ...notesOf(said),
        }
      })
      return changes.filter((change) => limiter === undefined || change.limiter === limiter).slice(0, count)
    },
    refresh: () => book.refresh(),
    close() {
      if (!closed) book.release()
      closed = true
    },
    attach({ name, baseStore, store: layered, policies, onChange }) {
      if (baseStore !== store) {
        throw new SluiceError(
          "INVALID_OPTION",
          "the rules are those of another store; give createRules and createLimiter the same store",
        )
      }
      if (policies !== undefined) known.set(name, policies)
      // Of other limiters too: a combined request waits with one of its limiters.
      const tell = (limiter: string, isChanged: (key: string) => boolean) => {
        const changed = escaped(limiter)
        onChange(({ ref, key }) => ref.limiter === changed && isChanged(key))
      }
      book.listeners.add(tell)
      const find = (limiter: string, key: string) => book.index.find(limiter, key, book.now)
      return {
        store: ruleLayer(layered, find, book.now),
        detach: () => book.listeners.delete(tell),
      }
    },
  }
}

function checkAgainst(own: Named, { name, policy }: Named[number], limiter: string): void {
  const before = own.find((each) => each.name === name)?.policy
  if (before === undefined) {
    const names = own.map((each) => each.name).join(", ")
    throw new SluiceError(
      "INVALID_POLICY",
      `limiter ${shown(limiter)} has no policy ${shown(name)}; its policies are ${names}`,
    )
  }
  if (countingOf(before).suffix === countingOf(policy).suffix) return
  throw new SluiceError(
    "INVALID_POLICY",
    `a rule cannot change the algorithm: ${shown(name)} of limiter ${shown(limiter)} is a ${before.algorithm}, got a ${policy.algorithm}, which would start with an empty state`,
  )
}

function targetOf(what: string, { limiter, key, pattern }: RuleTarget): Target {
  if (typeof limiter !== "string" || limiter === "") {
    throw new SluiceError("INVALID_OPTION", `${what} needs the name of a limiter, got ${shown(limiter)}`)
  }
  const text = key ?? pattern
  if (typeof text !== "string" || text === "" || (key !== undefined && pattern !== undefined)) {
    throw new SluiceError("INVALID_OPTION", `${what} needs either a key or a pattern`)
  }
  if (key === undefined && !/^[^*]*\*$/s.test(text)) {
    throw new SluiceError(
      "INVALID_OPTION",
      `pattern must be a prefix and a star, such as "acme:*", got ${shown(text)}`,
    )
  }
  if (text.length > LONGEST_TARGET) {
    throw new SluiceError(
      "INVALID_OPTION",
      `${what} takes at most ${LONGEST_TARGET} characters, got ${text.length}`,
    )
  }
  return key === undefined ? { isPrefix: true, text: text.slice(0, -1) } : { isPrefix: false, text }
}

function untilOf(until: Date | Duration | undefined, now: number): number | undefined {
  if (until === undefined) return undefined
  if (!(until instanceof Date)) return now + milliseconds(until, "until", "INVALID_OPTION")
  const at = until.getTime()
  if (at > now) return at
  throw new SluiceError("INVALID_OPTION", `until must lie ahead, got ${shown(String(until))}`)
}

function notesOf({ reason, by }: Pick<RuleNotes, "reason" | "by">): { reason?: string; by?: string } {
  return { ...(reason !== undefined && { reason }), ...(by !== undefined && { by }) }
}

function targetFields({ isPrefix, text }: Target): { key: string } | { pattern: string } {
  return isPrefix ? { pattern: `${text}*` } : { key: text }
}

function ruleOf({ limiter, target }: { limiter: string; target: Target }, stored: StoredRule): Rule {
  const { until, ...rest } = stored
  return { limiter, ...targetFields(target), ...rest, ...(until !== undefined && { until: new Date(until) }) }
}
