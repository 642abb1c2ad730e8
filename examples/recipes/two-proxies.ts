// Two proxies: a content delivery network, then nginx on this machine. Both append to X-Forwarded-For.
import express from "express"
import { fixedWindow } from "sluice"
import { rateLimit } from "sluice/express"
import { clientKey, decisionOf } from "sluice/http"

export const key = clientKey({ trustProxy: ["loopback", "203.0.113.0/24"] })

export const app = express()

app.use(rateLimit({ policy: fixedWindow({ limit: 2, window: "1m" }), key }))

app.get("/", (request, response) => {
  response.json({ left: decisionOf(request)?.remaining })
})
