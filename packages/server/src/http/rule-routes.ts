import { type Duration, SluiceError } from "sluice"
import type { Rule, RuleNotes, RuleTarget } from "sluice/rules"
import type { ServerContext } from "../context.js"
import { unknownLimiter } from "./problem.js"
import type { Route } from "./route.js"
import { rulePolicies } from "./rule-policies.js"
import { countSchema, durationSchema, keySchema, objectSchema, openObject, textSchema } from "./schemas.js"

interface RuleBody extends RuleTarget, Pick<RuleNotes, "reason" | "by"> {
  readonly action: Rule["action"]
  readonly policy?: Readonly<Record<string, unknown>>
  readonly until?: string | number
}

const limiterSchema = textSchema(4_096)
const target = {
  limiter: limiterSchema,
  key: { ...keySchema, maxLength: 256, description: "a text of 1 to 256 characters" },
  pattern: { ...textSchema(256), description: 'a prefix and a star, such as "acme:*"' },
}
const notes = { reason: textSchema(1_024), by: textSchema(256) }
const untilSchema = {
  ...durationSchema,
  minimum: 1,
  pattern: `${durationSchema["pattern"]}|^\\d{4}-\\d\\d-\\d\\dT[\\d:.]{5,12}(Z|[+-]\\d\\d:\\d\\d)$`,
  description: "a duration from now, or a moment such as 2030-01-31T12:00:00Z",
}
const list = (description: string) => ({ type: "array", items: openObject(description) })

/** Exceptions for single keys and prefixes. */
export function ruleRoutes({ engine, log }: ServerContext): Route[] {
  return [
    {
      method: "GET",
      url: "/v1/rules",
      summary: "Lists the rules in force.",
      isAdmin: true,
      query: objectSchema({ limiter: limiterSchema }, []),
      success: { status: 200, description: "The rules.", schema: list("A rule.") },
      problems: [503],
      async handler({ query }) {
        await engine.rules.refresh()
        return engine.rules.list(query as { limiter?: string })
      },
    },
    {
      method: "PUT",
      url: "/v1/rules",
      summary: "Sets the rule of a key or pattern: other limits, a block, or a pass.",
      isAdmin: true,
      body: objectSchema(
        {
          ...target,
          action: {
            type: "string",
            enum: ["limit", "block", "allow"],
            description: '"limit", "block" or "allow"',
          },
          policy: { ...openObject("a policy, or policies by name"), maxProperties: 64 },
          until: untilSchema,
          ...notes,
        },
        ["limiter", "action"],
      ),
      success: { status: 204, description: "The rule is in force." },
      problems: [404, 503],
      async handler(request, reply) {
        const { action, policy, until, ...rest } = request.body as RuleBody
        const { limiter } = rest
        const own = engine.policies(limiter)
        if (own === undefined) throw unknownLimiter(limiter)
        const rule = { ...rest, ...(until !== undefined && { until: untilOf(until) }) }
        if ((policy !== undefined) !== (action === "limit")) {
          throw new SluiceError(
            "INVALID_OPTION",
            'a rule has a policy if its action is "limit", and only then',
          )
        }
        if (policy === undefined) await engine.rules[action as "block" | "allow"](rule)
        else await engine.rules.set({ ...rule, policy: rulePolicies(limiter, own, policy) })
        log.info({ limiter, action, by: rest.by }, "set a rule")
        return reply.code(204).send()
      },
    },
    {
      method: "DELETE",
      url: "/v1/rules",
      summary: "Removes the rule of a key or pattern.",
      isAdmin: true,
      body: objectSchema({ ...target, ...notes }, ["limiter"]),
      success: {
        status: 200,
        description: "Whether there was a rule.",
        schema: { type: "object", properties: { removed: { type: "boolean" } }, required: ["removed"] },
      },
      problems: [503],
      async handler({ body }) {
        const rule = body as RuleTarget & Pick<RuleNotes, "reason" | "by">
        const removed = await engine.rules.remove(rule)
        log.info({ limiter: rule.limiter, removed, by: rule.by }, "removed a rule")
        return { removed }
      },
    },
    {
      method: "GET",
      url: "/v1/rules/history",
      summary: "Lists the latest changes of rules, newest first.",
      isAdmin: true,
      query: objectSchema({ limiter: limiterSchema, count: countSchema }, []),
      success: { status: 200, description: "The changes.", schema: list("A change of a rule.") },
      problems: [503],
      async handler({ query }) {
        const { limiter, count = "100" } = query as { limiter?: string; count?: string }
        return engine.rules.history({ limiter, count: Number(count) })
      },
    },
  ]
}

function untilOf(until: string | number): Date | Duration {
  if (typeof until === "number" || !until.includes("T")) return until as Duration
  const date = new Date(until)
  if (!Number.isNaN(date.getTime())) return date
  throw new SluiceError(
    "INVALID_OPTION",
    `until must be ${untilSchema.description}, got ${JSON.stringify(until)}`,
  )
}
