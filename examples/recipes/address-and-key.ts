// Two limits with different keys, charged together: one for the address, one for the API key.
import express from "express"
import { type Claim, combine, createLimiter, fixedWindow, memoryStore } from "sluice"
import { clientKey, rateLimitHeaders } from "sluice/http"

// Limiters that are combined share a store. For more than one process: redisStore(ioredis(client)).
const store = memoryStore()
const addresses = createLimiter({ name: "address", policy: fixedWindow({ limit: 5, window: "1m" }), store })
const apiKeys = createLimiter({ name: "key", policy: fixedWindow({ limit: 3, window: "1m" }), store })

const addressOf = clientKey({ trustProxy: "loopback" })
const names = { "address:default": "address", "key:default": "key" }

export const app = express()

app.use(async (request, response, next) => {
  const address = addressOf(request, {
    address: request.socket.remoteAddress,
    header: (name) => request.get(name),
  })
  const claims: Claim[] = [addresses.on(address)]
  const apiKey = request.get("x-api-key")
  if (apiKey !== undefined) claims.push(apiKeys.on(apiKey))

  const decision = await combine(claims).tryAcquire()
  response.set(rateLimitHeaders(decision, { names }))
  if (decision.allowed) next()
  else
    response.status(429).json({ error: "too many requests", policy: names[decision.policy as "key:default"] })
})

app.get("/", (_, response) => {
  response.send("hello")
})
