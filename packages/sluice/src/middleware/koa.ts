import type { Context, Middleware } from "koa"
import { createJudge } from "../http/judge.js"
import type { RateLimitOptions } from "../http/options.js"
import { NodeRequest, watch } from "./node.js"

/** Middleware for Koa 3: `app.use(rateLimit({ policy }))`. */
export function rateLimit(options: RateLimitOptions<Context>): Middleware {
  const judge = createJudge(options)
  return async (context, next) => {
    const { denial, headers, finish } = await judge(context, new NodeRequest(context.req, context.res))
    if (denial !== undefined) {
      context.status = denial.status
      context.set({ ...denial.headers })
      context.body = denial.body
      return
    }
    context.set({ ...headers })
    if (finish !== undefined) watch(context.res, finish)
    try {
      await next()
    } catch (error) {
      // For an error Koa drops the headers set so far and sends those of the error.
      if (error instanceof Error) Object.assign(error, { headers: { ...headers, ...headersOf(error) } })
      throw error
    }
  }
}

function headersOf(error: Error): object | undefined {
  return "headers" in error && typeof error.headers === "object" && error.headers !== null
    ? error.headers
    : undefined
}
