// What every runtime must do alike. This file is copied into projects that have the packed package installed.

/** Uses the core and its layers, and returns what came of it. */
export async function exerciseCore({
  combine,
  createLimiter,
  fixedWindow,
  leakyBucket,
  SluiceError,
  tokenBucket,
}) {
  const results = {}
  const limiter = createLimiter({
    name: "api",
    policy: {
      burst: tokenBucket({ capacity: 2, refill: 1, every: "1h" }),
      daily: fixedWindow({ limit: 10, window: "1d" }),
    },
  })
  const decisions = []
  for (let i = 0; i < 3; i += 1) decisions.push(await limiter.tryAcquire("user:42"))
  results.admitted = decisions.map(({ allowed, remaining }) => `${allowed} ${remaining}`).join()
  results.denial = `${decisions[2].policy} ${Math.ceil(decisions[2].retryAfter / 60_000)} min`

  const reservation = await limiter.reserve("user:7", { cost: { burst: 1, daily: 5 } })
  results.settled = await reservation.settle({ burst: 1, daily: 2 })
  results.left = (await limiter.peek("user:7")).policies.map(({ remaining }) => remaining).join()
  const both = combine([limiter.on("%é🙂".repeat(200)), limiter.on("user:8")])
  results.combined = (await both.tryAcquire()).allowed
  // This loads on first use.
  const reserved = await both.reserve()
  results.combinedReservation = reserved.decision.allowed && (await both.reservation(reserved.id).cancel())

  const paced = createLimiter({
    name: "paced",
    policy: leakyBucket({ capacity: 10, leak: 1, every: "20ms" }),
  })
  const start = Date.now()
  await Promise.all([paced.acquire("k"), paced.acquire("k"), paced.acquire("k")])
  results.waited = Date.now() - start >= 35

  const down = () => Promise.reject(new Error("down"))
  const store = { remote: true, decide: down, giveBack: down, leave: down, settle: down, forget: down }
  const outage = { then: { local: 0.5 }, deadline: 200 }
  const far = createLimiter({ name: "far", policy: fixedWindow({ limit: 4, window: "1m" }), store, outage })
  const alone = []
  for (let i = 0; i < 3; i += 1) alone.push(await far.tryAcquire("k"))
  results.alone = alone.map(({ allowed, source }) => `${allowed} ${source}`).join()

  try {
    tokenBucket({ capacity: 0, refill: 1, every: "1s" })
  } catch (error) {
    results.error = error instanceof SluiceError && error.code
  }
  await Promise.all([limiter.close(), paced.close(), far.close()])
  return results
}

/** What `exerciseCore` returns. */
export const coreResults = {
  admitted: "true 1,true 0,false 0",
  denial: "burst 60 min",
  settled: true,
  left: "1,8",
  combined: true,
  combinedReservation: true,
  waited: true,
  alone: "true fallback,true fallback,false fallback",
  error: "INVALID_POLICY",
}

/** Uses a store on Redis. */
export async function exerciseRedis(
  { createLimiter, fixedWindow, leakyBucket },
  { ioredis, ioredisSettings, redisStore },
  { Redis },
  port,
  name,
) {
  const client = new Redis({ ...ioredisSettings, host: "127.0.0.1", port })
  if (client.status !== "ready") await new Promise((resolve) => client.once("ready", resolve))
  const store = redisStore(ioredis(client))
  const limiter = createLimiter({ name, policy: fixedWindow({ limit: 3, window: "1h" }), store })
  const decisions = await Promise.all([1, 2, 3, 4, 5].map(() => limiter.tryAcquire("user:42")))
  const paced = createLimiter({
    name: `${name}-paced`,
    policy: leakyBucket({ capacity: 10, leak: 1, every: "20ms" }),
    store,
  })
  const start = Date.now()
  await Promise.all([paced.acquire("k"), paced.acquire("k"), paced.acquire("k")])
  const waited = Date.now() - start >= 35
  await Promise.all([limiter.close(), paced.close()])
  client.disconnect()
  return { allowed: decisions.filter(({ allowed }) => allowed).length, source: decisions[0].source, waited }
}

/** What `exerciseRedis` returns. */
export const redisResults = { allowed: 3, source: "store", waited: true }
