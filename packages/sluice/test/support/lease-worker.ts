import { Redis } from "ioredis"
import { createLimiter, fixedWindow, type Limiter, tokenBucket } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { type Report, type Shift, sharedNow } from "./lease-workers.js"

// The program of a process that leases, `lease-worker.ts <port of Redis>`: it says "ready" and does what it is told.
const client = new Redis(Number(process.argv[2]), "127.0.0.1")
const store = redisStore(ioredis(client))
const bucketPolicy = tokenBucket({ capacity: 2_000, refill: 2_000, every: "1s" })
const windowPolicy = fixedWindow({ limit: 2_000, window: "1s" })
const hourPolicy = fixedWindow({ limit: 10_000, window: "1h" })

/** Asks now and then as often as the rate has it; what was admitted. */
async function work({ load, start, lasts }: Shift): Promise<Report> {
  const bucket = witness(createLimiter({ name: "bucket", policy: bucketPolicy, store, lease: true }), start)
  const window = witness(createLimiter({ name: "window", policy: windowPolicy, store, lease: true }), start)
  await new Promise<void>((resolve) => {
    let due = 0
    let last = start
    const timer = setInterval(() => {
      const now = sharedNow()
      if (now < start) return
      const asks = (now - start) % (load.on + load.off) < load.on
      // after a pause of the process it does not make up for more than a little
      if (asks) due += (Math.min(now - last, 50) * load.rate) / 1_000
      last = now
      for (; due >= 1; due -= 1) {
        bucket.ask()
        window.ask()
      }
      if (now < start + lasts) return
      clearInterval(timer)
      resolve()
    }, 2)
  })
  return { bucket: await bucket.report(), window: await window.report() }
}

function witness(limiter: Limiter, start: number) {
  const asks = new Map<string, [askedAt: number, toldAt: number, count: number]>()
  const underWay = new Set<Promise<void>>()
  let leased = 0
  return {
    ask() {
      const askedAt = Math.floor(sharedNow() - start)
      const asked = limiter.tryAcquire("k").then(({ allowed, source }) => {
        underWay.delete(asked)
        if (!allowed) return
        const toldAt = Math.floor(sharedNow() - start)
        const alike = asks.get(`${askedAt} ${toldAt}`)
        if (alike === undefined) asks.set(`${askedAt} ${toldAt}`, [askedAt, toldAt, 1])
        else alike[2] += 1
        if (source === "lease") leased += 1
      })
      underWay.add(asked)
    },
    async report() {
      await Promise.all(underWay)
      await limiter.close()
      return { asks: [...asks.values()], leased }
    },
  }
}

async function freeze(asks: number): Promise<void> {
  const limiter = createLimiter({ name: "frozen", policy: hourPolicy, store, lease: true })
  let admitted = 0
  for (let i = 0; i < asks; i += 1) if ((await limiter.tryAcquire("k")).allowed) admitted += 1
  process.send?.(admitted, () => {
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })
}

process.on("disconnect", () => process.exit())
process.on("message", async (task: Shift | number) => {
  if (typeof task === "number") await freeze(task)
  else process.send?.(await work(task))
})
await client.ping()
process.send?.("ready")
