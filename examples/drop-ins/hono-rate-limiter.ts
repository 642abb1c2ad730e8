// hono-rate-limiter takes the store of sluice/express-rate-limit.
import { Hono } from "hono"
import { rateLimiter, type Store } from "hono-rate-limiter"
import { sluiceStore } from "sluice/express-rate-limit"

export const app = new Hono()

app.use(
  rateLimiter({
    windowMs: 60_000,
    limit: 100,
    keyGenerator: (c) => c.req.header("x-api-key") ?? "anonymous",
    store: sluiceStore() as Store,
  }),
)
