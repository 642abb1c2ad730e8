// One web application in a process of its own, with or without a limiter, under test by the HTTP cases.
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { HttpSubject } from "./subjects/http.js"
import { serve } from "./worker.js"

export type HttpRequest = "cpu" | { readonly subject: HttpSubject; readonly redisPort: number }

/** The port after a start; microseconds of processor time so far. */
export type HttpReply = number

// Frameworks and limiters check more during development.
process.env["NODE_ENV"] = "production"

serve<HttpRequest, HttpReply>(async (request) => {
  if (request === "cpu") {
    const { user, system } = process.cpuUsage()
    return user + system
  }
  const { apps } = await import("./subjects/http.js")
  const handler = await apps[request.subject.framework](request.subject, request.redisPort)
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return (server.address() as AddressInfo).port
})
