import type { LimiterInfo } from "sluice/client"
import type { ServerContext } from "../context.js"
import { limiterConfigs, namedPolicies } from "../engine.js"
import { unknownLimiter } from "./problem.js"
import { limiterName, type Route } from "./route.js"
import { countSchema, objectSchema, openObject } from "./schemas.js"

const infoSchema = openObject("A limiter: name, policies by name, mode, health.")

/** The limiters of the server, and their busiest keys. */
export function limiterRoutes({ engine, topKeys }: ServerContext): Route[] {
  const infoOf = (name: string): LimiterInfo | undefined => {
    const [limiter, policies] = [engine.limiter(name), engine.policies(name)]
    if (limiter === undefined || policies === undefined) return undefined
    const { mode, health } = limiter
    return { name, policies: Object.fromEntries(namedPolicies(policies)), mode, health }
  }

  return [
    {
      method: "GET",
      url: "/v1/limiters",
      summary: "Lists all limiters, those of descriptors included.",
      isAdmin: true,
      success: { status: 200, description: "All limiters.", schema: { type: "array", items: infoSchema } },
      handler: async () => [...limiterConfigs(engine.config).keys()].flatMap((name) => infoOf(name) ?? []),
    },
    {
      method: "GET",
      url: "/v1/limiters/:limiter",
      summary: "Shows a limiter.",
      isAdmin: true,
      success: { status: 200, description: "The limiter.", schema: infoSchema },
      async handler(request) {
        const name = limiterName(request)
        const info = infoOf(name)
        if (info === undefined) throw unknownLimiter(name)
        return info
      },
    },
    {
      method: "GET",
      url: "/v1/top",
      summary: "Lists the busiest and the most denied keys of each limiter, over all servers on one store.",
      isAdmin: true,
      query: objectSchema({ count: countSchema }, []),
      success: {
        status: 200,
        description: "A report per limiter.",
        schema: { type: "array", items: openObject("A TopKeysReport: limiter, busiest, denied.") },
      },
      async handler(request) {
        const { count = "20" } = request.query as { count?: string }
        const most = Number(count)
        // While the store does not answer, this process has only its own counts.
        const merged = await topKeys.merged(most).catch(() => undefined)
        return merged?.reports ?? topKeys.report(most)
      },
    },
  ]
}
