import type { Context, MiddlewareHandler } from "hono"
import { invalidOption } from "../http/invalid-option.js"
import { createJudge } from "../http/judge.js"
import type { RateLimitOptions } from "../http/options.js"
import { fromRequest, responseTo, watched, withHeaders } from "./response.js"

export interface HonoOptions extends RateLimitOptions<Context> {
  /** Returns the client's address, for `clientKey`. Pass `getConnInfo` of your platform's Hono adapter. */
  readonly getConnInfo?: ((context: Context) => { remote: { address?: string | undefined } }) | undefined
}

/** Middleware for Hono 4: `app.use(rateLimit({ policy, getConnInfo }))`. */
export function rateLimit({ getConnInfo, ...options }: HonoOptions): MiddlewareHandler {
  if (getConnInfo === undefined && options.key === undefined) {
    throw invalidOption(
      'sluice/hono needs a key or getConnInfo, such as that of "@hono/node-server/conninfo"',
    )
  }
  const judge = createJudge(options)
  return async (context, next) => {
    const http = fromRequest(context.req.raw, getConnInfo?.(context).remote.address)
    const { denial, headers, finish } = await judge(context, http)
    if (denial !== undefined) return responseTo(denial)
    try {
      await next()
    } catch (error) {
      void finish?.("aborted")
      throw error
    }
    const response = withHeaders(context.res, headers)
    const ended = finish === undefined ? response : watched(response, finish)
    if (ended === context.res) return undefined
    // Clear it first, or Hono merges the headers of the old response into the new one.
    context.res = undefined
    context.res = ended
    return undefined
  }
}
