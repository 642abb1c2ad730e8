import { conformance } from "sluice/testing"
import { afterAll, beforeAll, describe, test } from "vitest"
import { clientKinds } from "../support/clients.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import { clientWorkshop, type Workshop } from "../support/rigs.js"

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

describe.each(clientKinds)("a store in Redis through $name", (kind) => {
  let workshop: Workshop
  beforeAll(async () => {
    workshop = await clientWorkshop(server, kind)
  })
  afterAll(() => workshop.close())

  for (const { law, name, run } of conformance) {
    test(`law ${law}: ${name}`, async () => run(await workshop.rig()))
  }
})
