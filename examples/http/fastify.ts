// A Fastify application: a limit for all routes, another for one route, and none for the health check.
import fastify from "fastify"
import { fixedWindow } from "sluice"
import { rateLimit } from "sluice/fastify"

const app = fastify()

app.register(rateLimit({ policy: fixedWindow({ limit: 100, window: "1m" }) }))

app.register(async (routes) => {
  routes.get("/", async () => "hello")
  routes.get("/health", { config: { sluice: false } }, async () => "ok")

  const search = { policy: fixedWindow({ limit: 2, window: "1m" }) }
  routes.get("/search", { config: { sluice: search } }, async () => "found")
})

console.log(await app.listen({ port: Number(process.env["PORT"] ?? 3000), host: "127.0.0.1" }))
