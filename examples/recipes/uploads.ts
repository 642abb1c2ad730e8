// Uploads by size: 10 MiB at once, then 1 MiB a second. A unit is a kibibyte.
import express from "express"
import { tokenBucket } from "sluice"
import { rateLimit } from "sluice/express"

export const app = express()

app.post(
  "/upload",
  (request, response, next) => {
    // Without a length, the cost is not known before the body has arrived.
    if (request.get("content-length") === undefined) response.sendStatus(411)
    else next()
  },
  rateLimit({
    name: "upload",
    policy: tokenBucket({ capacity: 10_240, refill: 1_024, every: "1s" }),
    cost: (request) => Math.max(1, Math.ceil(Number(request.get("content-length")) / 1_024)),
  }),
  (request, response) => {
    let bytes = 0
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length
    })
    request.on("end", () => response.json({ bytes }))
  },
)
