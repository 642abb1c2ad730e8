import { type BetterAuthOptions, betterAuth } from "better-auth"
import { memoryAdapter } from "better-auth/adapters/memory"
import { slidingLog } from "sluice"
import { type SluiceStoreOptions, sluiceStore } from "sluice/better-auth"
import { expect, test } from "vitest"
import { flood, newPrefix, onEachStore, statuses } from "./stores.js"

/** An application with passwords behind the peer's rate limiter. */
function application(own: SluiceStoreOptions, rateLimit: BetterAuthOptions["rateLimit"] = {}) {
  const auth = betterAuth({
    baseURL: "http://localhost:3000",
    secret: "a secret for tests that is long enough",
    database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
    // Hashing takes a second on a busy machine, which is too long for a window of ten.
    emailAndPassword: { enabled: true, password: { hash: async (text) => text, verify: async () => false } },
    logger: { disabled: true },
    rateLimit: { enabled: true, customStorage: sluiceStore({ prefix: newPrefix(), ...own }), ...rateLimit },
  })
  const call = (path: string, init: RequestInit = {}, address = "192.0.2.1") =>
    auth.handler(
      new Request(`http://localhost:3000/api/auth${path}`, {
        ...init,
        headers: {
          "content-type": "application/json",
          origin: "http://localhost:3000",
          "x-forwarded-for": address,
        },
      }),
    )
  const guess = (address?: string) =>
    call(
      "/sign-in/email",
      { method: "POST", body: JSON.stringify({ email: "a@example.com", password: "wrong password" }) },
      address,
    )
  return { call, guess }
}

onEachStore((store) => {
  test("three guesses in ten seconds reach the handler, as the peer documents", async () => {
    const { guess } = application({ store: store() })
    expect(await statuses(4, guess)).toEqual([401, 401, 401, 429])
    const denied = await guess()
    expect(Number(denied.headers.get("x-retry-after"))).toBeGreaterThanOrEqual(1)
    expect(Number(denied.headers.get("x-retry-after"))).toBeLessThanOrEqual(10)
    expect((await guess("192.0.2.99")).status).toBe(401)
  })

  test("of 100 parallel guesses exactly three reach the handler", async () => {
    const { guess } = application({ store: store() })
    expect(await flood(100, () => guess())).toEqual({ 401: 3, 429: 97 })
  })

  test("custom rules hold for their paths, and the general rule for others", async () => {
    const { call } = application(
      { store: store() },
      { window: 60, max: 5, customRules: { "/ok": { window: 60, max: 2 } } },
    )
    expect(await statuses(3, () => call("/ok"))).toEqual([200, 200, 429])
    expect(await statuses(6, () => call("/get-session"))).toEqual([200, 200, 200, 200, 200, 429])
  })

  test("a function as the policy gets the peer's rule in milliseconds", async () => {
    const rules: object[] = []
    const policy = (rule: { limit: number; window: number }) => {
      rules.push(rule)
      return slidingLog(rule)
    }
    const { guess } = application({ store: store(), policy })
    expect(await statuses(4, guess)).toEqual([401, 401, 401, 429])
    expect(rules).toEqual([{ limit: 3, window: 10_000 }])
  })
})

test("an allowed request has no wait", async () => {
  expect(await sluiceStore().consume("k", { window: 10, max: 1 })).toEqual({
    allowed: true,
    retryAfter: null,
  })
})
