import { createLimiter, leakyBucket, SluiceError } from "sluice"

const limiter = createLimiter({
  name: "partner",
  policy: leakyBucket({ capacity: 10, leak: 10, every: "1s" }), // one call every 100 ms, nine wait at the most
  maxWait: "5s",
})

const start = performance.now()
const say = (what: string) =>
  console.log(`${Math.round((performance.now() - start) / 100) * 100} ms: ${what}`)

// waits its turn, and never resolves before it
await limiter.acquire("orders")
say("the first is sent at once")
await limiter.run("orders", () => say("the second has waited"))

// gets its turn within 50 ms, or is denied at once
const { allowed, retryAfter } = await limiter.tryAcquire("orders", { timeout: 50 })
say(allowed ? "sent" : `refused, its turn would come in more than 50 ms: ${retryAfter > 50}`)

// gives its turn up when the signal is aborted
const giveUp = new AbortController()
const [, second] = [limiter.acquire("orders"), limiter.acquire("orders", { signal: giveUp.signal })]
giveUp.abort(new Error("nobody wants it any more"))
await second.catch((error: Error) => say(`the fourth: ${error.message}`))
await limiter.acquire("orders")
say("the fifth has the turn that the fourth gave up")

// a line that is full is an error, with a code
const many = await Promise.allSettled(Array.from({ length: 20 }, () => limiter.acquire("orders")))
const codes = many.map(({ status, ...rest }) =>
  "reason" in rest && rest.reason instanceof SluiceError ? rest.reason.code : status,
)
say(`of twenty at once ${codes.filter((code) => code === "fulfilled").length} had a turn`)
say(`the others: ${[...new Set(codes)].filter((code) => code !== "fulfilled")}`)

await limiter.close()
