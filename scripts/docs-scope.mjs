// What a fragment of code in the docs may use without saying where it comes from. Each line is TypeScript.

/** Names by the module that exports them, beside those of the package's own entry points. */
export const imports = {
  ioredis: ["Cluster", "Redis"],
  redis: ["createClient", "createCluster"],
  "@valkey/valkey-glide": ["GlideClient", "GlideClusterClient"],
  "node:fs": ["readFileSync"],
  vitest: ["expect", "test"],
}

/** The entry points whose exports a fragment uses without an import, and types that it may name. */
export const entryPoints = {
  sluice: ["Claim", "Decision", "Limiter", "Policy", "Store"],
  "sluice/redis": [],
  "sluice/redisson": [],
  "sluice/fetch": [],
  "sluice/http": [],
  "sluice/testing": [],
  "sluice/store": [],
  "sluice/express": [],
  "sluice/telemetry": [],
  "sluice/rules": [],
}

/** Values, in an order in which each may use those before it. */
export const values = {
  client: `const client = await (async () => {
  const made = new Redis(process.env["REDIS_URL"] as string, ioredisSettings)
  await new Promise((resolve) => made.once("ready", resolve))
  return made
})()`,
  store: `const store = redisStore(ioredis(client))`,
  policy: `const policy = slidingLog({ limit: 60, window: "1m" })`,
  perAccount: `const perAccount = slidingLog({ limit: 5, window: "15m" })`,
  perUser: `const perUser = slidingLog({ limit: 60, window: "1m" })`,
  perKey: `const perKey = tokenBucket({ capacity: 100, refill: 10, every: "1s" })`,
  minute: `const minute = 60_000`,
  limiter: `const limiter = createLimiter({
  name: "docs",
  policy: { requests: slidingLog({ limit: 60, window: "1m" }), tokens: tokenBucket({ capacity: 90_000, refill: 90_000, every: "1m" }) },
})`,
  combinedStore: "const combinedStore = memoryStore()",
  organisations: `const organisations = createLimiter({ name: "organisations", policy, store: combinedStore })`,
  users: `const users = createLimiter({ name: "users", policy, store: combinedStore })`,
  key: `const key: string = "user:42"`,
  cost: `const cost: number = 1`,
  ref: `const ref = { ref: policyRef("docs", "default"), key: "user:42" }`,
  user: `const user = { id: "user:42" }`,
  request: `const request = new Request("http://localhost/")`,
  addressOf: `const addressOf = (_: unknown) => "192.0.2.1"`,
  plans: `const plans = { free: { requests: slidingLog({ limit: 10, window: "1m" }), tokens: tokenBucket({ capacity: 1, refill: 1, every: "1m" }) } }`,
  planOf: `const planOf = async (_: unknown): Promise<"free"> => "free"`,
  tooManyRequests: `const tooManyRequests = (retryAfter: number) => new Response(null, { status: 429, headers: { "Retry-After": String(retryAfter) } })`,
  unavailable: `const unavailable = () => new Response(null, { status: 503 })`,
  host: `const host = "127.0.0.1"`,
  port: `const port = 6379`,
  password: `const password = "secret"`,
  url: `const url = process.env["REDIS_URL"] as string`,
  name: `const name = "main"`,
  sentinels: `const sentinels = [{ host, port: 26379 }]`,
  nodes: `const nodes = [{ host, port }]`,
  addresses: `const addresses = [{ host, port }]`,
  myStore: `const myStore = memoryStore`,
  log: `const log: any = Object.assign(() => {}, { info() {}, warn() {}, error() {} })`,
}
