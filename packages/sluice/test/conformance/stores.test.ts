import { conformance } from "sluice/testing"
import { afterAll, beforeAll, describe, test } from "vitest"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import { ioredisWorkshop, memoryWorkshop, type Workshop } from "../support/rigs.js"

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

describe.each([
  ["memory", async () => memoryWorkshop()],
  ["Redis without a deny cache", () => ioredisWorkshop(server, "exact")],
  ["Redis through leases", () => ioredisWorkshop(server, "leased")],
] as const)("a store in %s", (where, open) => {
  let workshop: Workshop
  beforeAll(async () => {
    workshop = await open()
  })
  afterAll(() => workshop.close())

  for (const { law, name, needs, run } of conformance) {
    // what is kept in memory cannot be looked at from outside; memory-store.test.ts looks from inside
    if (where === "memory" && needs !== undefined) continue
    test(`law ${law}: ${name}`, async () => run(await workshop.rig()))
  }
})
