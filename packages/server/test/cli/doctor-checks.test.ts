import { describe, expect, test } from "vitest"
import { parseInfo } from "../../src/doctor/ask.js"
import { connectedClients } from "../../src/doctor/client-check.js"
import { measure } from "../../src/doctor/measure.js"
import {
  checkCluster,
  checkPersistence,
  checkReplication,
  checkVersion,
} from "../../src/doctor/server-checks.js"

const info = (text: string) => parseInfo(`# Section\r\n${text.replaceAll(" ", "\r\n")}\r\n`)
const settings = { save: "3600 1", fsync: "everysec", stopWrites: "yes" }

describe("the version", () => {
  test.each([
    ["redis_version:7.0.15", "ok", "Redis 7.0.15"],
    ["redis_version:7.2.4 server_name:valkey valkey_version:8.1.0", "ok", "Valkey 8.1.0"],
    ["redis_version:6.2.14", "warning", "Redis 6.2.14 has no functions; Sluice uses scripts"],
    ["redis_version:5.0.7", "problem", "Redis 5.0.7 is too old"],
    ["redis_version:10.0.0", "ok", "Redis 10.0.0"],
  ])("%s is %s", (text, level, message) => {
    expect(checkVersion(info(text))).toMatchObject({ level, message })
  })
})

describe("persistence", () => {
  test.each([
    ["aof_enabled:1 aof_last_write_status:ok", settings, "ok"],
    ["aof_enabled:1 aof_last_write_status:err", settings, "problem"],
    ["aof_enabled:0 rdb_last_bgsave_status:err", settings, "problem"],
    ["aof_enabled:0 rdb_last_bgsave_status:err", { ...settings, stopWrites: "no" }, "ok"],
    ["aof_enabled:1", { ...settings, fsync: "always" }, "warning"],
    ["aof_enabled:0", { ...settings, save: "" }, "ok"],
  ])("%s with %j is %s", (text, given, level) => {
    expect(checkPersistence(info(text), given).level).toBe(level)
  })
})

test("a replica that is far behind is a warning", () => {
  const text =
    "role:master connected_slaves:2 slave0:ip=a,port=1,state=online,offset=1,lag=1 slave1:ip=b,port=1,state=online,offset=1,lag=99"
  expect(checkReplication(info(text))).toMatchObject({
    level: "warning",
    message: expect.stringContaining("99 s behind"),
  })
})

test("a Cluster with slots that nobody serves is a problem", () => {
  const text = "cluster_state:fail cluster_slots_ok:10923 cluster_size:3"
  expect(checkCluster(info(text))).toMatchObject({
    level: "problem",
    message: expect.stringContaining("10,923 of 16,384"),
  })
})

test("connected client libraries are named with the settings they need", () => {
  const list =
    "id=1 addr=a lib-name=ioredis lib-ver=5\nid=2 lib-name=ioredis lib-ver=5\nid=3 lib-name=jedis lib-ver=1\nid=4 lib-name= lib-ver=\n"
  expect(connectedClients(list)).toMatchObject([
    {
      level: "ok",
      message: expect.stringContaining(
        "2 connections of ioredis; applications create it with new Redis({ ...ioredisSettings, … })",
      ),
    },
  ])
})

test("a slow call is measured a few times only", async () => {
  let time = 0
  const latency = await measure(
    async () => {
      time += 1_500
    },
    () => time,
  )
  expect(latency).toEqual({ samples: 5, min: 1_500, median: 1_500, p99: 1_500 })
})
