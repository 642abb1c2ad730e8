// A handler of the Fetch standard, as Next.js, Bun, Deno and Workers take it. Here Node serves it.
import { serve } from "@hono/node-server"
import { fixedWindow } from "sluice"
import { rateLimit } from "sluice/web"

const limit = rateLimit({
  policy: fixedWindow({ limit: 3, window: "1m" }),
  key: (request) => request.headers.get("x-api-key") ?? "anonymous",
})

export const GET = limit((request: Request) => Response.json({ path: new URL(request.url).pathname }))

serve({ fetch: GET, port: Number(process.env["PORT"] ?? 3000), hostname: "127.0.0.1" }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}`)
})
