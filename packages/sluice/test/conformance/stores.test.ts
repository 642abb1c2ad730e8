import { library } from "sluice/redis"
import { conformance } from "sluice/testing"
import { afterAll, beforeAll, describe, test } from "vitest"
import { command, type RedisServer, startRedis } from "../support/redis-server.js"
import { ruleIn } from "../support/rights.js"
import { ioredisWorkshop, memoryWorkshop, type Workshop } from "../support/rigs.js"

const preloadedRule = ruleIn("redis.md", 0)
const withoutFunctions = ruleIn("redis.md", 1).filter((word) => !/^\+(fcall|function)/.test(word))

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

/** Connects as a user with the rights of a rule. The library is preloaded. */
async function forUser(rule: readonly string[]): Promise<Workshop> {
  const [username = "", ...rights] = rule
  await command(server.port, "FUNCTION", "LOAD", "REPLACE", library.text)
  await command(server.port, "ACL", "SETUSER", username, ...rights)
  return ioredisWorkshop(server, { way: "exact", user: { username, password: "secret" } })
}

describe.each([
  ["memory", async () => memoryWorkshop()],
  ["Redis without a deny cache", () => ioredisWorkshop(server, { way: "exact" })],
  ["Redis through leases", () => ioredisWorkshop(server, { way: "leased" })],
  ["Redis by script", () => ioredisWorkshop(server, { way: "exact", delivery: "script" })],
  ["Redis for a user who may only call the preloaded function", () => forUser(preloadedRule)],
  ["Redis for a user without any right to functions", () => forUser(withoutFunctions)],
] as const)("a store in %s", (where, open) => {
  let workshop: Workshop
  beforeAll(async () => {
    workshop = await open()
  })
  afterAll(() => workshop.close())

  for (const { law, name, needs, run } of conformance) {
    // The state of a memory store cannot be read from outside. memory-store.test.ts checks it.
    if (where === "memory" && needs !== undefined) continue
    test(`law ${law}: ${name}`, async () => run(await workshop.rig()))
  }
})
