import { createServer } from "node:http"
import { Readable } from "node:stream"
import express5 from "express"
import express4 from "express4"
import { rateLimit } from "sluice/express"
import { decisionOf } from "sluice/http"
import { type Adapter, running } from "./adapter.js"
import { middlewareSuite } from "./suite.js"

const adapterFor = (name: string, express: typeof express5): Adapter => ({
  name,
  headersOnError: true,
  start(limits, handle) {
    const app = express()
    // The framework prints errors of handlers, except in tests.
    app.set("env", "test")
    for (const options of limits) app.use(rateLimit(options))
    app.use((request, response, next) => {
      handle(request.path, decisionOf(request)).then(({ status, headers = {}, body = "" }) => {
        response.status(status).set(headers)
        if (typeof body === "string") response.send(body)
        else Readable.from(body).pipe(response)
      }, next)
    })
    return running(createServer(app))
  },
})

middlewareSuite(adapterFor("Express 5", express5))
middlewareSuite(adapterFor("Express 4", express4))
