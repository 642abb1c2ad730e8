import { Redis } from "ioredis"
import { ioredis } from "sluice/redis"
import { redissonRateLimiter } from "sluice/redisson"
import { describe, expect, test, vi } from "vitest"
import { scripts } from "../../src/redisson/scripts.js"
import { rightsFor, ruleIn } from "../support/rights.js"
import { useRig } from "./rig.js"

const rule = ruleIn("redisson.md")
const rights = rule.filter((word) => word.startsWith("+"))
const rig = useRig()

/** Calls every method with every outcome. */
async function useEverything(client: Redis): Promise<void> {
  const config = { type: "OVERALL", rate: 5, interval: "1m" } as const
  await using limiter = redissonRateLimiter(ioredis(client), "partner", { config })
  await limiter.tryAcquire(2)
  await limiter.delete()
  await limiter.trySetRate("OVERALL", 5, "1m", "2m")
  await limiter.getConfig()
  const abort = new AbortController()
  const aborted = limiter.acquire(2, { signal: abort.signal }).catch(() => {})
  abort.abort()
  await aborted
  await vi.waitFor(async () => expect(await limiter.availablePermits()).toBe(5), { timeout: 1_000 })
  await rig.client.zadd("{partner}:permits", Date.now() + 60_000, "one")
  await limiter.tryAcquire(4)
  await limiter.tryAcquire(4)
  await limiter.setRate("OVERALL", 9, "1m")
  await limiter.tryAcquire(1)
}

async function succeedsWith(words: readonly string[]): Promise<boolean> {
  await rig.client.call("ACL", "DELUSER", "sluice")
  // The commands that ioredis itself needs.
  await rig.client.call("ACL", "SETUSER", ...words, "+info")
  await rig.client.flushall()
  await rig.client.script("FLUSH")
  const options = { username: "sluice", password: "secret" }
  const client = new Redis(rig.server.port, rig.server.host, options).on("error", () => {})
  const used = useEverything(client).then(
    () => true,
    () => false,
  )
  return used.finally(() => client.disconnect())
}

describe("the rights named in docs/redisson.md", () => {
  test("are those that the scripts need, and no others", () => {
    const texts = Object.values(scripts).map(({ text }) => text)
    const head = ["sluice", "reset", "on", ">secret", "~partner", "~{partner}:*"]
    expect(rule.join(" ")).toBe([...head, "+evalsha", "+eval", ...rightsFor(...texts)].join(" "))
  })

  test("are enough", async () => {
    expect(rights.length).toBeGreaterThan(10)
    expect(await succeedsWith(rule)).toBe(true)
  })

  test.each(rights)("are not enough without %s", async (right) => {
    expect(await succeedsWith(rule.filter((word) => word !== right))).toBe(false)
  })
})
