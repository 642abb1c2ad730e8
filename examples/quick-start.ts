import { createLimiter, tokenBucket } from "sluice"

const limiter = createLimiter({
  name: "api",
  policy: tokenBucket({ capacity: 3, refill: 1, every: "1s" }),
})

for (let request = 1; request <= 5; request += 1) {
  const { allowed, remaining, retryAfter } = await limiter.tryAcquire("user:42")
  if (allowed) console.log(`request ${request} passes, ${remaining} left`)
  else console.log(`request ${request} is denied, it would pass in ${retryAfter} ms`)
}

await limiter.close()
