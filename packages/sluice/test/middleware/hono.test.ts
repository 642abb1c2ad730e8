import type { Server } from "node:http"
import { createAdaptorServer } from "@hono/node-server"
import { getConnInfo } from "@hono/node-server/conninfo"
import { Hono } from "hono"
import { rateLimit } from "sluice/hono"
import { decisionOf } from "sluice/http"
import { type Adapter, running, toResponse } from "./adapter.js"
import { middlewareSuite } from "./suite.js"

const hono: Adapter = {
  name: "Hono 4",
  headersOnError: true,
  start(limits, handle) {
    const app = new Hono()
    app.onError((_, context) => context.text("Internal Server Error", 500))
    for (const options of limits) app.use(rateLimit({ ...options, getConnInfo }))
    app.all("*", async (context) => toResponse(await handle(context.req.path, decisionOf(context))))
    return running(createAdaptorServer({ fetch: app.fetch }) as Server)
  },
}

middlewareSuite(hono)
