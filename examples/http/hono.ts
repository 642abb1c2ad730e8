// A Hono application that charges uploads by their size.
import { serve } from "@hono/node-server"
import { getConnInfo } from "@hono/node-server/conninfo"
import { Hono } from "hono"
import { tokenBucket } from "sluice"
import { rateLimit } from "sluice/hono"

const app = new Hono()

app.use(
  "/upload",
  rateLimit({
    name: "upload",
    policy: tokenBucket({ capacity: 1_000, refill: 100, every: "1s" }),
    cost: (c) => Math.max(1, Number(c.req.header("content-length") ?? 1)),
    headers: { units: { default: "content-bytes" } },
    onDenied: (_, { decision }) => ({ body: { error: "too much data", retryAfter: decision?.retryAfter } }),
    getConnInfo,
  }),
)

app.post("/upload", async (c) => c.json({ bytes: (await c.req.text()).length }))

serve({ fetch: app.fetch, port: Number(process.env["PORT"] ?? 3000), hostname: "127.0.0.1" }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}`)
})
