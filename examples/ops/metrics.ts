// Counts decisions for Prometheus, and prints what a scrape would see.

import { Registry } from "prom-client"
import { createLimiter, fixedWindow } from "sluice"
import { prometheus } from "sluice/telemetry"

const register = new Registry()
prometheus(register)

const limiter = createLimiter({ name: "api", policy: fixedWindow({ limit: 3, window: "1m" }) })
for (let i = 0; i < 5; i += 1) await limiter.tryAcquire("ann")

const scrape = await register.metrics()
for (const line of scrape.split("\n")) if (/^sluice_(decisions|policy)/.test(line)) console.log(line)
