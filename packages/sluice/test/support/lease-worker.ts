import { Redis } from "ioredis"
import { createLimiter, fixedWindow, type Limiter, tokenBucket } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { type Report, type Shift, sharedNow } from "./lease-workers.js"

// A worker process with leases: `lease-worker.ts <port of Redis>`. It prints "ready" and runs its tasks.
const client = new Redis(Number(process.argv[2]), "127.0.0.1")
const store = redisStore(ioredis(client))
const bucketPolicy = tokenBucket({ capacity: 2_000, refill: 2_000, every: "1s" })
const windowPolicy = fixedWindow({ limit: 2_000, window: "1s" })
const hourPolicy = fixedWindow({ limit: 10_000, window: "1h" })

/** Sends requests at the given rate, with pauses. Returns what was admitted. */
async function work({ load, start, lasts }: Shift): Promise<Report> {
  const bucket = witness(createLimiter({ name: "bucket", policy: bucketPolicy, store, lease: true }), start)
  const window = witness(createLimiter({ name: "window", policy: windowPolicy, store, lease: true }), start)
  await new Promise<void>((resolve) => {
    let due = 0
    let last = start
    const timer = setInterval(() => {
      const now = sharedNow()
      if (now < start) return
      const requests = (now - start) % (load.on + load.off) < load.on
      // After a pause of the process, it makes up for only a few missed requests.
      if (requests) due += (Math.min(now - last, 50) * load.rate) / 1_000
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
  const requests = new Map<string, [askedAt: number, toldAt: number, count: number]>()
  const underWay = new Set<Promise<void>>()
  let leased = 0
  return {
    ask() {
      const askedAt = Math.floor(sharedNow() - start)
      const asked = limiter.tryAcquire("k").then(({ allowed, source }) => {
        underWay.delete(asked)
        if (!allowed) return
        const toldAt = Math.floor(sharedNow() - start)
        const alike = requests.get(`${askedAt} ${toldAt}`)
        if (alike === undefined) requests.set(`${askedAt} ${toldAt}`, [askedAt, toldAt, 1])
        else alike[2] += 1
        if (source === "lease") leased += 1
      })
      underWay.add(asked)
    },
    async report() {
      await Promise.all(underWay)
      await limiter.close()
      return { asks: [...requests.values()], leased }
    },
  }
}

async function freeze(requests: number): Promise<void> {
  const limiter = createLimiter({ name: "frozen", policy: hourPolicy, store, lease: true })
  let admitted = 0
  for (let i = 0; i < requests; i += 1) if ((await limiter.tryAcquire("k")).allowed) admitted += 1
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
