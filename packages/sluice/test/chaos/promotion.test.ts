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
const start = (clockOff: number) => async () => {
  master = await startRedis()
  replica = await startReplica(master, { clockOff })
  proxy = await startProxy(master.port)
}
afterEach(async () => {
  await proxy.close()
  await Promise.all([master.stop(), replica.stop()])
})

type ClientName = keyof typeof clients

const rig = (client: ClientName) => ({ open: () => clients[client](proxy.port), calls: proxy.calls })

const offsetOf = async ({ port }: RedisServer) =>
  /master_repl_offset:(\d+)/.exec(String(await command(port, "INFO", "replication")))?.[1]

/** Pauses writes until the replica has all of them, and promotes it. */
async function promoteInStep() {
  await command(master.port, "CLIENT", "PAUSE", 5_000, "WRITE")
  while ((await offsetOf(master)) !== (await offsetOf(replica))) await sleep(2)
  await command(replica.port, "REPLICAOF", "NO", "ONE")
}

function moveClients() {
  proxy.turnTo(replica.port)
  proxy.cut()
}

describe("a replica promoted while its old master still replies for 150 ms", () => {
  beforeEach(start(0))

  test.each<[ClientName, OutagePolicy]>([
    ["ioredis", "throw"],
    ["node-redis", "closed"],
    ["glide", "throw"],
  ])("does not know the grants of that time, through %s, then %o", async (client, then) => {
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
        // Meanwhile it is a replica, which refuses writes.
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

describe.each([
  [5_000, shared.capacity],
  [-5_000, 0],
])("a promoted server with a clock skew of %d ms", (off, more) => {
  beforeEach(start(off))

  test.each<ClientName>(["ioredis", "node-redis", "glide"])(
    `admits ${more} units more at the most, and locks nobody out for longer than two seconds, through %s`,
    async (client) => {
      let movedAt = 0
      const lockedOut = ({ ofAll }: Siege) => {
        const next = ofAll.find(({ startedAt, outcome }) => startedAt > movedAt && outcome === "allowed")
        return next && next.endedAt - movedAt
      }
      const secondsOf = async ({ port }: RedisServer) =>
        Number(((await command(port, "TIME")) as string[])[0])
      const ahead = (await secondsOf(replica)) - (await secondsOf(master))
      expect(Math.abs(ahead - off / 1_000), "is libfaketime there?").toBeLessThanOrEqual(1)
      const { siege } = await endure({
        ...rig(client),
        fault: `clock ${off}, ${client}`,
        then: "throw",
        strike: async (siege) => {
          await promoteInStep()
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
