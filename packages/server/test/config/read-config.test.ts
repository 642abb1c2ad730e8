import { readFileSync } from "node:fs"
import { fixedWindow, tokenBucket } from "sluice"
import { expect, test } from "vitest"
import { readConfig } from "../../src/config/read-config.js"

const read = (text: string, env: Record<string, string> = {}) => readConfig([{ name: "f", text }], env)
const fileOf = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8")

test("the sample configuration has three limiters and a domain", () => {
  const { limiters, domains, listen, store } = read(fileOf("sample.yaml"))
  expect([...limiters.keys()]).toEqual(["api", "login", "uploads"])
  expect(limiters.get("api")?.policy).toEqual(tokenBucket({ capacity: 10, refill: 1, every: "1m" }))
  expect(limiters.get("uploads")?.policy).toMatchObject({
    requests: { limit: 60 },
    bytes: { refill: 1_000_000 },
  })
  expect([...domains.keys()]).toEqual(["sample"])
  expect(listen).toEqual({ http: { host: "127.0.0.1", port: 8080 }, grpc: { host: "127.0.0.1", port: 8081 } })
  expect(store).toEqual({ type: "memory", maxKeys: undefined })
})

test("a domain of Envoy's format is read as it is", () => {
  const { domains } = read(`
domain: mongo_cps
descriptors:
  - key: database
    value: users
    rate_limit:
      unit: Second
      requests_per_unit: 500
    descriptors:
      - key: port
        value: 0080
        rate_limit: { unlimited: true, name: inner }
  - key: remote_address
    value: 50.0.0.5
    rate_limit: { unit: second, requests_per_unit: 0 }
`)
  const [database, blocked] = domains.get("mongo_cps")?.descriptors ?? []
  expect(database?.limit).toMatchObject({
    kind: "policy",
    limiter: "mongo_cps/database=users",
    policy: fixedWindow({ limit: 500, window: "1s", align: "clock" }),
  })
  expect(database?.descriptors[0]).toMatchObject({
    key: "port",
    value: "0080",
    limit: { kind: "unlimited", name: "inner" },
  })
  expect(blocked?.limit).toMatchObject({ kind: "blocked", unit: "second" })
})

test("no two paths of descriptors have limiters of one name", () => {
  const { domains } = read(`
domain: d/e
descriptors:
  - key: a=b
    rate_limit: { unit: day, requests_per_unit: 1 }
  - key: a
    value: b
    rate_limit: { unit: day, requests_per_unit: 1 }
`)
  const names = domains.get("d/e")?.descriptors.map(({ limit }) => limit?.kind === "policy" && limit.limiter)
  expect(names).toEqual(["d%2fe/a%3db", "d%2fe/a=b"])
})

test("variables of the environment stand in for secrets", () => {
  const env = { REDIS_PASSWORD: "p4ss", TOKEN: "0123456789abcdef" }
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the syntax of the file
  const config = read("store: redis://:${REDIS_PASSWORD}@localhost:6379\nadmin: { token: '${TOKEN}' }\n", env)
  expect(config.store).toMatchObject({ servers: { url: "redis://:p4ss@localhost:6379" } })
  expect(config.admin.token).toBe("0123456789abcdef")
})

test("the token comes from SLUICE_ADMIN_TOKEN where the file has none", () => {
  expect(read("store: memory\n", { SLUICE_ADMIN_TOKEN: "from the environment" }).admin.token).toBe(
    "from the environment",
  )
  expect(read("store: memory\n", {}).admin.token).toBeUndefined()
})

test("limiters and domains may be spread over several files", () => {
  const config = readConfig(
    [
      { name: "a", text: "limiters: { a: { policy: { algorithm: slidingLog, limit: 1, window: 1s } } }\n" },
      { name: "b", text: "limiters: { b: { policy: { algorithm: slidingLog, limit: 1, window: 1s } } }\n" },
      { name: "c", text: "domain: c\n" },
    ],
    {},
  )
  expect([...config.limiters.keys()]).toEqual(["a", "b"])
  expect([...config.domains.keys()]).toEqual(["c"])
})

test("a limiter without an outage policy has that of the whole file", () => {
  const config = read(`
outage: { then: closed, deadline: 200ms }
limiters:
  a: { policy: { algorithm: slidingLog, limit: 1, window: 1s } }
  b: { policy: { algorithm: slidingLog, limit: 1, window: 1s }, outage: { then: { local: 0.5 } } }
`)
  expect(config.limiters.get("a")?.outage).toEqual({ then: "closed", deadline: 200 })
  expect(config.limiters.get("b")?.outage).toEqual({ then: { local: 0.5 } })
})

test("anchors and merge keys work as in YAML", () => {
  const config = read(`
limiters:
  a: &base { policy: &p { algorithm: slidingLog, limit: 1, window: 1s } }
  b: { <<: *base, maxWait: 5s }
`)
  expect(config.limiters.get("b")).toMatchObject({ maxWait: 5_000, policy: { algorithm: "slidingLog" } })
})
