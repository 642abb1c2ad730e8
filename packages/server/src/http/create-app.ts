import Fastify, { type FastifyInstance } from "fastify"
import { createResponder } from "sluice/http"
import type { ServerContext } from "../context.js"
import { envoyJson } from "../envoy/json-route.js"
import { adminGuard } from "./admin-guard.js"
import { batchRoutes } from "./batch-routes.js"
import { onClientError } from "./client-error.js"
import { decideRoutes } from "./decide-routes.js"
import { envoyOperation } from "./envoy-operation.js"
import { errorHandler, problemOf } from "./error-handler.js"
import { healthRoutes } from "./health-routes.js"
import { keyRoutes } from "./key-routes.js"
import { limiterRoutes } from "./limiter-routes.js"
import { openApiDocument } from "./openapi.js"
import { problemBody, sendProblem } from "./problem.js"
import { proxyRoutes } from "./proxy-routes.js"
import { reservationRoutes } from "./reservation-routes.js"
import type { Route } from "./route.js"
import { ruleRoutes } from "./rule-routes.js"
import { openObject, problemSchema } from "./schemas.js"

const BODY_LIMIT = 64 * 1024
const mediaType = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(;|$)/
/** Names of limiters may be as long as the path of a descriptor. */
const LONGEST_PARAMETER = 4_096

export interface AppOptions {
  /** Where the server listens, which decides whether admin calls need a token. */
  readonly listenHost: string
  /** How long clients should keep an idle connection, in milliseconds. */
  readonly keepAlive: number
  /** Whether each response should be the last one of its connection. */
  readonly isClosing: () => boolean
}

/** The HTTP server with all routes. */
export function createApp(context: ServerContext, options: AppOptions): FastifyInstance {
  const { engine } = context
  const { listenHost, isClosing } = options
  const keepAlive = `timeout=${options.keepAlive / 1_000}`
  const responder = createResponder({ form: engine.config.http.headers })
  const app = Fastify({
    bodyLimit: BODY_LIMIT,
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    exposeHeadRoutes: false,
    return503OnClosing: false,
    clientErrorHandler: onClientError,
    // A misspelt field must be an error, and "1" is no cost.
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allowUnionTypes: true,
        verbose: true,
      },
    },
    frameworkErrors: (error, _, reply) => {
      const { body, headers } = problemOf(error, responder)
      sendProblem(reply, body, headers)
    },
  }) as unknown as FastifyInstance

  // A browser sends text/plain to any site without asking that site first.
  app.removeContentTypeParser("text/plain")
  app.setErrorHandler(errorHandler(context, responder))
  app.setNotFoundHandler((request, reply) => {
    sendProblem(
      reply,
      problemBody(404, `there is no ${request.method} here; GET /openapi.json lists all routes`),
    )
  })
  app.addHook("onSend", (_, reply, payload, done) => {
    if (isClosing()) reply.header("Connection", "close")
    // Node announces its own timeout unless there is a Connection header.
    else if (reply.raw.shouldKeepAlive)
      reply.header("Connection", "keep-alive").header("Keep-Alive", keepAlive)
    done(null, payload)
  })

  const routes: Route[] = [
    ...decideRoutes(context, responder),
    ...reservationRoutes(context, responder),
    ...batchRoutes(context, responder),
    ...proxyRoutes(context, responder),
    ...keyRoutes(context),
    ...limiterRoutes(context),
    ...ruleRoutes(context),
    ...healthRoutes(context),
  ]
  const documentRoute: Route = {
    method: "GET",
    url: "/openapi.json",
    summary: "This document.",
    success: { status: 200, description: "An OpenAPI 3.1 document.", schema: openObject("OpenAPI 3.1") },
    handler: async (_, reply) => reply.type("application/json").send(document),
  }
  const document = JSON.stringify(openApiDocument([...routes, envoyOperation, documentRoute]))
  register(
    app,
    [...routes, documentRoute],
    adminGuard(() => engine.config.admin.token, listenHost),
  )
  app.register(envoyJson(context))
  return app
}

function register(
  app: FastifyInstance,
  routes: readonly Route[],
  guard: ReturnType<typeof adminGuard>,
): void {
  const add = (to: FastifyInstance, route: Route) => {
    const { method, url, isAdmin, query, body, bodyLimit = BODY_LIMIT, success, handler } = route
    const { status, schema } = success
    to.route({
      method,
      url,
      bodyLimit,
      schema: {
        ...(query !== undefined && { querystring: query }),
        ...(body !== undefined && { body }),
        response: {
          ...(schema !== undefined && { [status]: schema }),
          "4xx": problemSchema,
          "5xx": problemSchema,
        },
      },
      ...(isAdmin === true && { onRequest: guard }),
      handler,
    })
  }
  for (const route of routes) if (route.ignoresBody !== true) add(app, route)
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser("*", (_, __, done) => done(null))
    // Fastify refuses a malformed type even without a body.
    scope.addHook("onRequest", ({ raw }, _, done) => {
      const type = raw.headers["content-type"]
      if (type !== undefined && !mediaType.test(type))
        raw.headers["content-type"] = "application/octet-stream"
      done()
    })
    for (const route of routes) if (route.ignoresBody === true) add(scope, route)
  })
}
