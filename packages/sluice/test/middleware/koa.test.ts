import { createServer } from "node:http"
import { Readable } from "node:stream"
import Koa from "koa"
import { decisionOf } from "sluice/http"
import { rateLimit } from "sluice/koa"
import { type Adapter, running } from "./adapter.js"
import { middlewareSuite } from "./suite.js"

const koa: Adapter = {
  name: "Koa 3",
  headersOnError: true,
  start(limits, handle) {
    const app = new Koa()
    app.silent = true
    for (const options of limits) app.use(rateLimit(options))
    app.use(async (context) => {
      const { status, headers = {}, body = "" } = await handle(context.path, decisionOf(context))
      context.status = status
      context.set({ ...headers })
      context.body = typeof body === "string" ? body : Readable.from(body)
    })
    return running(createServer(app.callback()))
  },
}

middlewareSuite(koa)
