// A tRPC server that charges a batch of calls once.
import { initTRPC, TRPCError } from "@trpc/server"
import { type FetchCreateContextFnOptions, fetchRequestHandler } from "@trpc/server/adapters/fetch"
import { createLimiter, type Decision, fixedWindow } from "sluice"
import { rateLimitHeaders } from "sluice/http"

const limiter = createLimiter({ name: "trpc", policy: fixedWindow({ limit: 3, window: "1m" }) })

/** tRPC makes one context for each HTTP request, and all calls of a batch share it. */
function createContext({ req, resHeaders }: FetchCreateContextFnOptions) {
  const key = req.headers.get("x-api-key") ?? "anonymous"
  let decision: Promise<Decision> | undefined
  const decide = async () => {
    const decided = await limiter.tryAcquire(key)
    const headers = rateLimitHeaders(decided, { names: { default: "trpc" } })
    for (const [name, value] of Object.entries(headers)) resHeaders.set(name, value)
    return decided
  }
  return {
    /** The first call of a batch charges. The others share its decision. */
    charge: () => {
      decision ??= decide()
      return decision
    },
  }
}

const t = initTRPC.context<typeof createContext>().create()

const limited = t.procedure.use(async ({ ctx, next }) => {
  const { allowed, retryAfter } = await ctx.charge()
  if (!allowed) throw new TRPCError({ code: "TOO_MANY_REQUESTS", message: `Retry in ${retryAfter} ms` })
  return next()
})

const appRouter = t.router({
  hello: limited.query(() => "hello"),
  time: limited.query(() => Date.now()),
  health: t.procedure.query(() => "ok"),
})

export type AppRouter = typeof appRouter

export function handler(req: Request): Promise<Response> {
  // A batch costs the same as one call, so its size has a limit.
  return fetchRequestHandler({ req, router: appRouter, endpoint: "/trpc", createContext, maxBatchSize: 10 })
}
