// What an application with express-rate-limit looks like with sluice/express.
import express from "express"
import { Redis } from "ioredis"
import { fixedWindow } from "sluice"
import { rateLimit } from "sluice/express"
import { clientKey, decisionOf } from "sluice/http"
import { ioredis, redisStore } from "sluice/redis"

const store = redisStore(ioredis(new Redis({ lazyConnect: true })))
export const app = express()

const limiter = rateLimit({
  policy: fixedWindow({ limit: 100, window: "15m" }),
  store,
  headers: "draft-8",
  key: clientKey({ trustProxy: 1, ipv6Prefix: 56 }),
})
app.use(limiter)

const perPlan = rateLimit({
  name: "plans",
  policy: (req) => fixedWindow({ limit: req.get("x-plan") === "gold" ? 1_000 : 100, window: "1h" }),
  store,
  skip: (req) => req.path === "/health",
})
app.use(perPlan)

const failedLogins = rateLimit({
  name: "login",
  policy: fixedWindow({ limit: 5, window: "15m" }),
  store,
  count: "failures",
  onDenied: () => ({ body: { error: "too many attempts" } }),
})
app.post("/login", failedLogins)

app.get("/left", (req, res) => {
  res.json({ left: decisionOf(req)?.remaining })
})
