import type { FastifyPluginCallback, FastifyRequest, onRequestAsyncHookHandler } from "fastify"
import { createJudge, type Judge } from "../http/judge.js"
import type { RateLimitOptions } from "../http/options.js"
import { NodeRequest, watch } from "./node.js"
import { routeOptions } from "./route-options.js"

type RouteOptions = RateLimitOptions<FastifyRequest>

export interface FastifyOptions extends RouteOptions {
  /** The hook that decides. Use `"preHandler"` if the key comes from authentication or the body. Default: `"onRequest"`. */
  readonly hook?: "onRequest" | "preHandler" | undefined
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** Options of `sluice/fastify` for this route, or `false` to leave it unlimited. */
    sluice?: false | RateLimitOptions<FastifyRequest>
  }
}

/** A plugin for Fastify 5: `app.register(rateLimit({ policy }))`. Without a policy, only routes with `config.sluice` are limited. */
export function rateLimit({ hook = "onRequest", ...options }: FastifyOptions = {}): FastifyPluginCallback {
  const forAll =
    options.policy === undefined && options.limiter === undefined ? undefined : createJudge(options)
  const ofRoutes = new WeakMap<object, Judge<FastifyRequest>>()

  const judgeOf = (request: FastifyRequest): Judge<FastifyRequest> | undefined => {
    const own = request.routeOptions.config.sluice
    if (own === undefined) return forAll
    return own === false ? undefined : ofRoutes.get(own)
  }

  const limit: onRequestAsyncHookHandler = async (request, reply) => {
    const judgement = await judgeOf(request)?.(request, new NodeRequest(request.raw, reply.raw))
    if (judgement === undefined) return
    const { denial, headers, finish } = judgement
    if (denial !== undefined) {
      // Send bytes: Fastify adds a charset to the type of a string, and problem+json has none.
      return reply.code(denial.status).headers(denial.headers).send(Buffer.from(denial.body))
    }
    reply.headers(headers)
    if (finish !== undefined) watch(reply.raw, finish)
  }

  const plugin: FastifyPluginCallback = (app, _, done) => {
    // Check the options of a route when it is added, not when it is first called.
    app.addHook("onRoute", ({ config }) => {
      const own = config?.sluice
      if (own !== undefined && own !== false && !ofRoutes.has(own))
        ofRoutes.set(own, createJudge(routeOptions(options, own)))
    })
    app.addHook(hook as "onRequest", limit)
    done()
  }
  // Without this symbol, Fastify applies the hooks only inside the plugin.
  return Object.assign(plugin, { [Symbol.for("skip-override")]: true })
}
