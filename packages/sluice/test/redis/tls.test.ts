import { GlideClient } from "@valkey/valkey-glide"
import { Redis } from "ioredis"
import { Redis as Valkey } from "iovalkey"
import { createClient } from "redis"
import { createLimiter, SluiceError, tokenBucket } from "sluice"
import { glide, ioredis, nodeRedis, redisStore } from "sluice/redis"
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest"
import { type Connected, strict } from "../support/clients.js"
import { ruleIn } from "../support/rights.js"
import { startTlsRedis, type TlsServer } from "../support/tls-server.js"

let server: TlsServer
beforeAll(async () => {
  server = await startTlsRedis()
})
afterAll(() => server.stop())

interface Access {
  readonly password: string
  /** The certificate of the trusted authority. Default: those of the system. */
  readonly ca: string | undefined
}

interface Client {
  readonly name: string
  /** The options of the client itself, as in docs/redis.md. */
  readonly rights: readonly string[]
  /** Connects with the settings in docs/redis.md. Errors of failed attempts go to `heard`. */
  open(access: Access, heard: string[]): Promise<Connected>
}

const username = "sluice"
/** The deadline of a limiter, plus half a second for a busy machine. */
const IN_TIME = 1_500

const ofIoredis = (name: string, Library: typeof Redis): Client => ({
  name,
  rights: ["+info"],
  async open({ password, ca }, heard) {
    const { host, port } = server
    const client = new Library({ ...strict, host, port, username, password, tls: { ...(ca && { ca }) } })
    client.on("error", ({ message }) => heard.push(message))
    return { client: ioredis(client), close: () => client.disconnect() }
  },
})

const ofNodeRedis: Client = {
  name: "node-redis",
  rights: [],
  async open({ password, ca }, heard) {
    const { host, port } = server
    const client = createClient({
      disableOfflineQueue: true,
      username,
      password,
      socket: { host, port, tls: true, ...(ca && { ca }) },
    })
    client.on("error", ({ message }) => heard.push(message))
    // Otherwise it would wait for as long as it is refused.
    client.connect().catch(() => {})
    return { client: nodeRedis(client), close: () => client.destroy() }
  },
}

const ofGlide = (lazyConnect: boolean): Client => ({
  name: lazyConnect ? "valkey-glide, lazily" : "valkey-glide",
  rights: ["+info"],
  async open({ password, ca }) {
    const { host, port } = server
    const client = await GlideClient.createClient({
      addresses: [{ host, port }],
      requestTimeout: 1_000,
      lazyConnect,
      useTLS: true,
      credentials: { username, password },
      ...(ca && { advancedConfiguration: { tlsAdvancedConfiguration: { rootCertificates: ca } } }),
    })
    return { client: glide(client), close: () => client.close() }
  },
})

const clients = [
  ofIoredis("ioredis", Redis),
  ofIoredis("iovalkey", Valkey as unknown as typeof Redis),
  ofNodeRedis,
  ofGlide(false),
  ofGlide(true),
]

/** A limiter of three units an hour, through a client of its own. */
async function limiterOf(client: Client, access: Access, heard: string[] = []) {
  const { client: redis, close } = await client.open(access, heard)
  const limiter = createLimiter({
    name: "over TLS",
    policy: tokenBucket({ capacity: 3, refill: 3, every: "1h" }),
    store: redisStore(redis),
  })
  onTestFinished(async () => {
    await limiter.close()
    close()
  })
  return limiter
}

/** The error of a rejected promise, and after how many milliseconds it came. */
async function failureOf(promise: Promise<unknown>): Promise<{ error: Error; after: number }> {
  const startedAt = performance.now()
  const error = await promise.then(
    () => Promise.reject(new Error("it did not fail")),
    (error: unknown) => error as Error,
  )
  return { error, after: performance.now() - startedAt }
}

describe.each(clients)(
  "a server with TLS only and a user with the documented rights, through $name",
  (client) => {
    beforeEach(async () => {
      await server.admin("FLUSHALL")
      await server.admin("SCRIPT", "FLUSH")
      await server.admin("ACL", "DELUSER", username)
      await server.admin("ACL", "SETUSER", ...ruleIn("redis.md", 1), ...client.rights)
    })
    const good = (): Access => ({ password: "secret", ca: server.ca })

    test("serve every method of a limiter", async () => {
      const limiter = await limiterOf(client, good())
      expect(await limiter.tryAcquire("k", { cost: 2 })).toMatchObject({ allowed: true, remaining: 1 })
      expect(await limiter.tryAcquire("k", { cost: 2 })).toMatchObject({ allowed: false, source: "store" })
      expect(await limiter.acquire("k")).toMatchObject({ allowed: true, remaining: 0 })
      await limiter.refund("k", 2)
      expect(await limiter.peek("k")).toMatchObject({ remaining: 2 })
      const { decision, settle } = await limiter.reserve("k", { cost: 2 })
      expect(decision).toMatchObject({ allowed: true, remaining: 0 })
      expect(await settle(1)).toBe(true)
      expect(await limiter.charge("k", 1)).toMatchObject({ remaining: 0 })
      await limiter.reset("k")
      expect(await limiter.peek("k")).toMatchObject({ remaining: 3 })
    })

    test("report a wrong password in time", async () => {
      const heard: string[] = []
      const opening = limiterOf(client, { ...good(), password: "wrong" }, heard)
      const { error, after } = await failureOf(opening.then((limiter) => limiter.tryAcquire("k")))
      expect(after).toBeLessThan(IN_TIME)
      expect([error.message, ...heard].join()).toContain("WRONGPASS")
      if (client.name === "valkey-glide") return // it has no client to ask
      expect(error).toBeInstanceOf(SluiceError)
      expect(error).toMatchObject({ code: "STORE_REFUSED" })
      if (heard.length > 0) expect(error.message).toContain('its "error" events say why')
    })

    test("are not used if their certificate is not trusted, and that is reported in time", async () => {
      const heard: string[] = []
      const opening = limiterOf(client, { ...good(), ca: undefined }, heard)
      const { error, after } = await failureOf(opening.then((limiter) => limiter.tryAcquire("k")))
      if (client.name === "valkey-glide") {
        // After its connectionTimeout, without mentioning the certificate.
        expect(error.message).toContain("timed out")
        expect(after).toBeLessThan(2_000 + IN_TIME)
        return
      }
      expect(error).toBeInstanceOf(SluiceError)
      // valkey-glide retries beyond the deadline of the limiter, so the outcome is unknown.
      const lazily = client.name === "valkey-glide, lazily"
      expect(error).toMatchObject({ code: lazily ? "STORE_UNKNOWN" : "STORE_REFUSED" })
      expect(after).toBeLessThan(IN_TIME)
      if (!lazily) expect(heard.join()).toContain("certificate")
    })
  },
)
