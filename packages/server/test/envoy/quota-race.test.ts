import { expect, test } from "vitest"
import { shouldRateLimit } from "../../src/envoy/should-rate-limit.js"
import { contextOf } from "../grpc/support/rls-server.js"

const limit = (count: number) => `rate_limit: { unit: year, requests_per_unit: ${count} }`
const config = `
domain: d
descriptors:
  - { key: quota, quota_mode: true, ${limit(1)} }
  - { key: user, ${limit(5)} }
  - { key: tenant, ${limit(5)} }
  - { key: watched, shadow_mode: true, ${limit(5)} }
`
const on = (key: string) => ({ entries: [{ key, value: "a" }], isNegativeHits: false })

test("a request that loses its quota to another one after it was asked is denied and charges nothing", async () => {
  const { context, engine } = contextOf(config)
  const ask = (...keys: string[]) =>
    shouldRateLimit(context, { domain: "d", descriptors: keys.map(on), hitsAddend: 2 })
  const used = async (key: string) =>
    (await engine.limiter(`d/${key}`)?.inspect(`${key}=a`))?.policies[0]?.used

  // What the quota says when it is asked is out of date, as if another request came in between.
  const find = engine.limiter
  engine.limiter = (name) => {
    const limiter = find(name)
    if (name !== "d/quota" || limiter === undefined) return limiter
    const isFree = async (key: string) => ({ ...(await limiter.peek(key)), allowed: true })
    return Object.create(limiter, { peek: { value: isFree } })
  }
  const { overallCode, statuses } = await ask("quota", "user", "tenant", "watched", "user")
  expect(overallCode).toBe("OVER_LIMIT")
  expect(statuses.map(({ code }) => code)).toEqual(["OVER_LIMIT", "OK", "OK", "OK", "OK"])
  expect(statuses.map(({ limitRemaining }) => limitRemaining)).toEqual([0, 5, 5, 5, 5])
  for (const key of ["user", "tenant", "watched"]) expect(await used(key)).toBe(0)
  await engine.close()
})
