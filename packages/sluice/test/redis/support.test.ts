import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, test, vi } from "vitest"
import { command, startCluster, startRedis, startReplica, startSentinel } from "../support/redis-server.js"

async function stopped<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const server = await starting
  onTestFinished(() => server.stop())
  return server
}

test("a private server answers, dies and comes back empty on its port", async () => {
  const server = await stopped(startRedis())
  const { port, pid } = server
  expect(await command(port, "SET", "key", "värde")).toBe("OK")
  expect(await command(port, "MGET", "key", "none")).toEqual(["värde", null])
  await expect(command(port, "INCR", "key")).rejects.toThrow(/not an integer/)
  await server.kill()
  await expect(command(port, "PING")).rejects.toThrow(/ECONNREFUSED/)
  await server.restart()
  expect(server.port).toBe(port)
  expect(server.pid).not.toBe(pid)
  expect(await command(port, "DBSIZE")).toBe(0)
})

test("a server with an append-only file keeps its writes after a crash", async () => {
  const dir = mkdtempSync(join(tmpdir(), "sluice-kept-"))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const server = await stopped(startRedis({ args: ["--appendonly", "yes"], dir }))
  await command(server.port, "SET", "key", "value")
  await server.restart()
  expect(await command(server.port, "GET", "key")).toBe("value")
})

test("stopping removes the temporary folder", async () => {
  const server = await startRedis()
  const [, dir] = (await command(server.port, "CONFIG", "GET", "dir")) as [string, string]
  expect(existsSync(dir)).toBe(true)
  await server.stop()
  expect(existsSync(dir)).toBe(false)
})

test("a port of another server is refused, not shared", async () => {
  const { port } = await stopped(startRedis())
  await expect(startRedis({ port })).rejects.toThrow(/did not start/)
})

test("a cluster serves every slot", async () => {
  const { nodes } = await stopped(startCluster(3))
  const keys = Array.from({ length: 30 }, (_, index) => `key:${index}`)
  const owners = keys.map(async (key) => {
    const replies = await Promise.allSettled(nodes.map(({ port }) => command(port, "SET", key, "1")))
    return replies.flatMap(({ status }, index) => (status === "fulfilled" ? [index] : []))
  })
  const found = await Promise.all(owners)
  expect(found.every((owner) => owner.length === 1)).toBe(true)
  expect(new Set(found.flat())).toEqual(new Set([0, 1, 2]))
})

test("a replica follows its master", async () => {
  const master = await stopped(startRedis())
  await command(master.port, "SET", "before", "1")
  const replica = await stopped(startReplica(master))
  expect(await command(replica.port, "GET", "before")).toBe("1")
  await command(master.port, "SET", "after", "2")
  await vi.waitFor(async () => expect(await command(replica.port, "GET", "after")).toBe("2"), 10_000)
  await expect(command(replica.port, "SET", "key", "1")).rejects.toThrow(/READONLY/)
})

test("a sentinel promotes the replica of a dead master", async () => {
  const master = await stopped(startRedis())
  const replica = await stopped(startReplica(master))
  const sentinel = await stopped(startSentinel(master, 1))
  const address = () => command(sentinel.port, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinel.master)
  expect(await address()).toEqual([master.host, String(master.port)])
  await master.kill()
  await vi.waitFor(async () => expect(await address()).toEqual([replica.host, String(replica.port)]), 30_000)
  expect(await command(replica.port, "SET", "key", "1")).toBe("OK")
})
