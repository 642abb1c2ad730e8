import type { Change, Rule, RuleChoice, RuleNotes, Rules, RuleTarget } from "../rules/rules.js"
import type { Caller } from "./caller.js"
import { reviveDates } from "./revive.js"

/** The rules of a server, for operators. The methods are those of `Rules`. */
export interface ClientRules extends Pick<Rules, "set" | "block" | "allow" | "remove" | "history"> {
  /** The rules in force. */
  list(filter?: { readonly limiter?: string | undefined }): Promise<Rule[]>
}

export function clientRules(call: Caller): ClientRules {
  const put = (action: Rule["action"], rule: (RuleTarget & RuleNotes) | RuleChoice) =>
    // JSON writes a date as the text that the server reads.
    call<void>("PUT", "/v1/rules", { body: { ...rule, action } })
  const get = async <T extends object>(
    path: string,
    query: Readonly<Record<string, unknown>>,
  ): Promise<T[]> => {
    const given = Object.entries(query).filter(([, value]) => value !== undefined)
    const texts = given.map(([name, value]): [string, string] => [name, String(value)])
    const text = new URLSearchParams(texts).toString()
    return (await call<T[]>("GET", text === "" ? path : `${path}?${text}`)).map(reviveDates)
  }
  return {
    set: (rule) => put("limit", rule),
    block: (rule) => put("block", rule),
    allow: (rule) => put("allow", rule),
    async remove(rule) {
      return (await call<{ removed: boolean }>("DELETE", "/v1/rules", { body: rule })).removed
    },
    list: ({ limiter } = {}) => get<Rule>("/v1/rules", { limiter }),
    history: ({ limiter, count } = {}) => get<Change>("/v1/rules/history", { limiter, count }),
  }
}
