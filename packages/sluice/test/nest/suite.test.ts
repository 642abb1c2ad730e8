import type { ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { All, Controller, Req, Res } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import { decisionOf } from "sluice/http"
import { RateLimitModule } from "sluice/nest"
import { expect, test } from "vitest"
import type { Adapter, Handle } from "../middleware/adapter.js"
import { middlewareSuite } from "../middleware/suite.js"
import { appOf, InstalledFactory, listening, type Platform, version } from "./app.js"

/** A controller that answers every path and method with what `handle` says. */
function controllerOf(platform: Platform, handle: Handle) {
  @Controller()
  class Everything {
    @All(platform === "Fastify" ? "*" : "{*path}")
    async answer(@Req() request: { url: string }, @Res() response: ServerResponse): Promise<void> {
      const { status, headers = {}, body = "" } = await handle(request.url, decisionOf(request))
      if (platform === "Fastify") {
        // Fastify's reply sends streams itself.
        const reply = response as unknown as Record<"code" | "headers" | "send", (value: unknown) => void>
        reply.code(status)
        reply.headers(headers)
        reply.send(typeof body === "string" ? body : Readable.from(body))
        return
      }
      response.statusCode = status
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
      if (typeof body === "string") response.end(body)
      else Readable.from(body).pipe(response)
    }
  }
  return Everything
}

const adapterFor = (platform: Platform): Adapter => ({
  name: `Nest ${version} on ${platform}`,
  headersOnError: true,
  async start(limits, handle) {
    const app = await appOf(platform, {
      imports: limits.map((options) => RateLimitModule.forRoot(options)),
      controllers: [controllerOf(platform, handle)],
    })
    return listening(app)
  },
})

test("the suite runs on the version of Nest that its project names", () => {
  expect(version).toMatch(process.env["NEST"] === "11" ? /^11\./ : /^12\./)
  expect(NestFactory).toBe(InstalledFactory)
})

middlewareSuite(adapterFor("Express"))
middlewareSuite(adapterFor("Fastify"))
