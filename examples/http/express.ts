// An Express application: one limit for all routes, and a stricter one for failed logins.
import type { AddressInfo } from "node:net"
import express from "express"
import { fixedWindow, tokenBucket } from "sluice"
import { rateLimit } from "sluice/express"
import { clientKey, decisionOf } from "sluice/http"

const app = express()
const key = clientKey({ trustProxy: "loopback" })

app.use(
  rateLimit({
    policy: {
      burst: tokenBucket({ capacity: 5, refill: 1, every: "1s" }),
      daily: fixedWindow({ limit: 1_000, window: "1d" }),
    },
    key,
  }),
)

app.get("/", (req, res) => {
  res.json({ left: decisionOf(req)?.remaining })
})

const failedLogins = rateLimit({
  name: "login",
  policy: fixedWindow({ limit: 2, window: "15m" }),
  key,
  count: "failures",
})

app.post("/login", failedLogins, express.json(), (req, res) => {
  res.sendStatus(req.body.password === "open sesame" ? 200 : 401)
})

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
