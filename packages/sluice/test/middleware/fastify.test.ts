import { Readable } from "node:stream"
import fastify, { type FastifyContextConfig, type FastifyInstance } from "fastify"
import { rateLimit } from "sluice/fastify"
import { decisionOf } from "sluice/http"
import { type Adapter, running } from "./adapter.js"
import { middlewareSuite } from "./suite.js"

/** Answers every path and method with what `handle` says. */
function answerAll(
  app: FastifyInstance,
  handle: Parameters<Adapter["start"]>[1],
  config: FastifyContextConfig = {},
): void {
  app.all("/*", { config }, async (request, reply) => {
    const { status, headers = {}, body = "" } = await handle(request.url, decisionOf(request))
    reply.code(status).headers(headers)
    return reply.send(typeof body === "string" ? body : Readable.from(body))
  })
}

const plugin: Adapter = {
  name: "Fastify 5",
  headersOnError: true,
  async start(limits, handle) {
    const app = fastify()
    for (const options of limits) app.register(rateLimit(options))
    app.register(async (routes) => answerAll(routes, handle))
    await app.ready()
    return running(app.server)
  },
}

/** The limit is in the configuration of the route, which has room for one. */
const perRoute: Adapter = {
  name: "Fastify 5 with config.sluice",
  headersOnError: true,
  stacks: false,
  async start([options = {}], handle) {
    const app = fastify()
    app.register(rateLimit())
    app.register(async (routes) => answerAll(routes, handle, { sluice: options }))
    await app.ready()
    return running(app.server)
  },
}

middlewareSuite(plugin)
middlewareSuite(perRoute)
