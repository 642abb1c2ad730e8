import type { IncomingMessage, Server } from "node:http"
import { createAdaptorServer } from "@hono/node-server"
import { decisionOf } from "sluice/http"
import { rateLimit } from "sluice/web"
import { type Adapter, running, toResponse } from "./adapter.js"
import { middlewareSuite } from "./suite.js"

/** What this server passes to a handler after the request. */
type Env = { incoming: IncomingMessage }
type Fetch = (request: Request, env: Env) => Response | PromiseLike<Response>

const address = (_: Request, { incoming }: Env) => incoming.socket.remoteAddress

const web: Adapter = {
  name: "a Fetch handler",
  headersOnError: false,
  start(limits, handle) {
    const handler: Fetch = async (request) =>
      toResponse(await handle(new URL(request.url).pathname, decisionOf(request)))
    const limited = limits.reduceRight((inner, options) => rateLimit({ ...options, address })(inner), handler)
    // As a platform handles an error of a handler.
    const fetch = async (request: Request, env: unknown) => {
      try {
        return await limited(request, env as Env)
      } catch {
        return new Response("Internal Server Error", { status: 500 })
      }
    }
    return running(createAdaptorServer({ fetch }) as Server)
  },
}

middlewareSuite(web)
