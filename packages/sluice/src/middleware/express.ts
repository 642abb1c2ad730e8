import type { Request, RequestHandler } from "express"
import { createJudge } from "../http/judge.js"
import type { RateLimitOptions } from "../http/options.js"
import { admit, NodeRequest } from "./node.js"

/** Middleware for Express 4 and 5: `app.use(rateLimit({ policy }))`. */
export function rateLimit(options: RateLimitOptions<Request>): RequestHandler {
  const judge = createJudge(options)
  return async (request, response, next) => {
    try {
      const judgement = await judge(request, new NodeRequest(request, response))
      if (!admit(judgement, response)) return
    } catch (error) {
      next(error)
      return
    }
    next()
  }
}
