import { setTimeout as sleep } from "node:timers/promises"
import type { OutagePolicy } from "sluice"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { clients, grantedBetween, report, type Siege, shared } from "../support/chaos.js"
import { endure } from "../support/endure.js"
import { startProxy, type TcpProxy } from "../support/proxy.js"
import { command, type RedisServer, startRedis, startReplica } from "../support/redis-server.js"

let master: RedisServer
let replica: RedisServer
let proxy: TcpProxy
beforeEach(async () => {
  master = await startRedis()
  replica = await startReplica(master)
  proxy = await startProxy(master.port)
})
afterEach(async () => {
  await proxy.close()
  await Promise.all([master.stop(), replica.stop()])
})

type ClientName = keyof typeof clients

const rig = (client: ClientName) => ({ open: () => clients[client](proxy.port), calls: proxy.calls })

const offsetOf = async ({ port }: RedisServer) =>
  /master_repl_offset:(\d+)/.exec(String(await command(port, "INFO", "replication")))?.[1]

/** Holds writes back until the replica has all of them, and promotes it. */
async function promoteInStep() {
  await command(master.port, "CLIENT", "PAUSE", 5_000, "WRITE")
  while ((await offsetOf(master)) !== (await offsetOf(replica))) await sleep(2)
  await command(replica.port, "REPLICAOF", "NO", "ONE")
}

function moveClients() {
  proxy.turnTo(replica.port)
  proxy.cut()
}

describe("a replica that is promoted while its master still answers for 150 ms", () => {
  test.each<[ClientName, OutagePolicy]>([
    ["ioredis", "throw"],
    ["node-redis", "closed"],
    ["glide", "throw"],
  ])("forgets what was granted in that time, through %s, then %o", async (client, then) => {
    let lost = 0
    let stretch = { from: 0, to: 0 }
    await endure({
      ...rig(client),
      fault: `promotion, ${client}, ${JSON.stringify(then)}`,
      then,
      strike: async () => {
        await promoteInStep()
        const from = performance.now()
        await command(master.port, "CLIENT", "UNPAUSE")
        await sleep(150)
        await command(master.port, "REPLICAOF", replica.host, replica.port)
        stretch = { from, to: performance.now() }
        // meanwhile it is a replica, which refuses
        await sleep(250)
        moveClients()
      },
      within: 3_000,
      forgets: (siege: Siege) => {
        lost = grantedBetween(siege.ofAll, stretch.from, stretch.to)
        return lost
      },
      keeps: false,
    })
    report(`promotion, ${client}: lost`, { lost })
    expect(proxy.calls.refusals.READONLY).toBeGreaterThan(0)
  })
})

// There is no way to set the clock of one server here, so the callers' clock stands for it: what the scripts are told
// is what a promoted server would tell them by TIME.
describe.each([
  [5_000, shared.capacity],
  [-5_000, 0],
])("a promoted server whose clock is off by %d ms", (off, more) => {
  test.each<ClientName>(["ioredis", "node-redis", "glide"])(
    `admits ${more} units more at the most, and locks nobody out for longer than two seconds, through %s`,
    async (client) => {
      let offset = 0
      let movedAt = 0
      const lockedOut = ({ ofAll }: Siege) => {
        const next = ofAll.find(({ startedAt, outcome }) => startedAt > movedAt && outcome === "allowed")
        return next && next.endedAt - movedAt
      }
      const { siege } = await endure({
        ...rig(client),
        fault: `clock ${off}, ${client}`,
        then: "throw",
        clock: () => Date.now() + offset,
        strike: async (siege) => {
          await promoteInStep()
          offset = off
          moveClients()
          movedAt = performance.now()
          while (lockedOut(siege) === undefined && performance.now() - movedAt < 5_000) await sleep(10)
        },
        within: 3_000,
        forgets: () => more,
      })
      report(`clock ${off}, ${client}: locked out`, { lockedOut: lockedOut(siege) })
      expect(lockedOut(siege)).toBeLessThan(2_000)
    },
  )
})
