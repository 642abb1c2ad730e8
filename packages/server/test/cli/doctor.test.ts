import { createServer as createHttpServer } from "node:http"
import type { AddressInfo, Server } from "node:net"
import { createServer as createTlsServer } from "node:tls"
import { library } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import {
  command,
  type RedisServer,
  startCluster,
  startRedis,
  startReplica,
} from "../../../sluice/test/support/redis-server.js"
import { ruleIn } from "../../../sluice/test/support/rights.js"
import type { Finding } from "../../src/doctor/finding.js"
import { sluice } from "./fake-terminal.js"

interface Diagnosis {
  readonly code: number
  readonly reachable: boolean
  readonly problems: number
  readonly warnings: number
  readonly findings: readonly Finding[]
}

async function doctor(url: string, ...more: readonly string[]): Promise<Diagnosis> {
  const { code, out } = await sluice(["doctor", "--redis", url, "--json", ...more])
  return { code, ...(JSON.parse(out) as Omit<Diagnosis, "code">) }
}

/** The findings of one check, as `level: message`. */
function said({ findings }: Diagnosis, check: string): string[] {
  return findings.filter((each) => each.check === check).map(({ level, message }) => `${level}: ${message}`)
}

function fixes({ findings }: Diagnosis): string {
  return findings.map(({ fix = "" }) => fix).join("\n")
}

describe("on one server", () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())

  test("a healthy server has no problem and no warning", async () => {
    const diagnosis = await doctor(server.url)
    expect(diagnosis.findings.filter(({ level }) => level !== "ok")).toEqual([])
    expect(diagnosis).toMatchObject({ code: 0, reachable: true, problems: 0, warnings: 0 })
    expect(said(diagnosis, "library")[0]).toContain("is not loaded; the first call loads it")
    expect(said(diagnosis, "latency")[0]).toMatch(
      /^ok: PING: min .* ms, median .* ms, p99 .* ms \(\d+ calls\)$/,
    )
    expect(said(diagnosis, "latency")[1]).toMatch(/^ok: a decision by script: /)
    expect(said(diagnosis, "clock")[0]).toMatch(/^ok: /)
    expect(said(diagnosis, "replication")).toEqual(["ok: master without replicas"])
  })

  test("it leaves no library, and keys of its own expire within seconds", async () => {
    await doctor(server.url)
    expect(await command(server.port, "FUNCTION", "LIST")).toEqual([])
    for (const key of (await command(server.port, "KEYS", "*")) as string[]) {
      const left = Number(await command(server.port, "PTTL", key))
      expect(left).not.toBe(-1)
      expect(left).toBeLessThan(5_000)
    }
  })

  test("a person reads a line for each finding and the sums", async () => {
    const { code, out } = await sluice(["doctor"], { env: { REDIS_URL: server.url } })
    expect(code).toBe(0)
    expect(out).toMatch(/^ok +version +Redis|^ok +version +Valkey/m)
    expect(out).toContain("\n0 problems, 0 warnings\n")
  })

  test("the library of this version is used, and those of others are listed with how to remove them", async () => {
    const old = "sluice_0123456789abcdef"
    await command(server.port, "FUNCTION", "LOAD", library.text)
    await command(
      server.port,
      "FUNCTION",
      "LOAD",
      `#!lua name=${old}\nredis.register_function("${old}", function() end)`,
    )
    onTestFinished(async () => {
      await command(server.port, "FUNCTION", "FLUSH")
    })
    const diagnosis = await doctor(server.url)
    expect(diagnosis).toMatchObject({ code: 0, warnings: 1 })
    expect(said(diagnosis, "library")).toEqual([
      `ok: ${library.name} is loaded`,
      `warning: libraries of other versions are loaded: ${old}`,
    ])
    expect(fixes(diagnosis)).toContain(`FUNCTION DELETE ${old}`)
    expect(said(diagnosis, "latency")[1]).toMatch(/^ok: a decision by function: /)
  })

  test("a policy that evicts keys is a problem once maxmemory is set, and a warning before", async () => {
    await command(server.port, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    onTestFinished(async () => {
      await command(server.port, "CONFIG", "SET", "maxmemory", 0)
      await command(server.port, "CONFIG", "SET", "maxmemory-policy", "noeviction")
    })
    expect(said(await doctor(server.url), "memory")[0]).toMatch(
      /^warning: maxmemory-policy allkeys-lru would evict/,
    )
    await command(server.port, "CONFIG", "SET", "maxmemory", 100_000_000)
    const diagnosis = await doctor(server.url)
    expect(diagnosis.code).toBe(1)
    expect(said(diagnosis, "memory")[0]).toMatch(/^problem: maxmemory-policy allkeys-lru evicts keys/)
    expect(fixes(diagnosis)).toContain("Set maxmemory-policy noeviction")
    await command(server.port, "CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
    expect(said(await doctor(server.url), "memory")[0]).toMatch(
      /^warning: maxmemory-policy volatile-ttl evicts/,
    )
  })

  test("a memory that is nearly full is a warning", async () => {
    const used = Number(/used_memory:(\d+)/.exec(String(await command(server.port, "INFO", "memory")))?.[1])
    await command(server.port, "CONFIG", "SET", "maxmemory", Math.round(used * 1.15))
    onTestFinished(async () => {
      await command(server.port, "CONFIG", "SET", "maxmemory", 0)
    })
    expect(said(await doctor(server.url), "memory")[0]).toMatch(/^warning: memory is nearly full/)
  })

  test("min-replicas-to-write without replicas is a problem", async () => {
    await command(server.port, "CONFIG", "SET", "min-replicas-to-write", 1)
    onTestFinished(async () => {
      await command(server.port, "CONFIG", "SET", "min-replicas-to-write", 0)
    })
    const diagnosis = await doctor(server.url)
    expect(diagnosis.code).toBe(1)
    expect(said(diagnosis, "replication")[0]).toMatch(
      /^problem: min-replicas-to-write is set, and 0 replicas/,
    )
  })

  test("settings in the URL that replay calls are a problem", async () => {
    for (const setting of [
      "autoResendUnfulfilledCommands=true",
      "maxRetriesPerRequest=20",
      "enableOfflineQueue=true",
    ]) {
      const diagnosis = await doctor(`${server.url}?${setting}`)
      expect(diagnosis.code).toBe(1)
      expect(said(diagnosis, "client")[0]).toContain(`problem: ${setting.split("=")[0]} in the URL`)
    }
  })

  describe("as a user with few rights", () => {
    const loginAs = async (...rules: readonly string[]) => {
      await command(server.port, "ACL", "SETUSER", ...rules)
      onTestFinished(async () => {
        await command(server.port, "ACL", "DELUSER", "sluice")
        await command(server.port, "FUNCTION", "FLUSH")
      })
      return `redis://sluice:secret@127.0.0.1:${server.port}`
    }

    test("without any right, it names what is missing for both lines of rights", async () => {
      const diagnosis = await doctor(await loginAs("sluice", "reset", "on", ">secret", "~sluice:*"))
      expect(diagnosis.code).toBe(1)
      const [loaded = "", loadsItself = ""] = said(diagnosis, "rights")
      const missing = (index: number) =>
        ruleIn("redis.md", index)
          .filter((word) => word.startsWith("+") && !["+mget", "+setrange", "+rpush"].includes(word))
          .map((word) => word.slice(1))
      for (const right of missing(0)) expect(loaded).toContain(right)
      for (const right of missing(1)) expect(loadsItself).toContain(right)
      expect(said(diagnosis, "server")[0]).toMatch(/^skipped: INFO failed: NOPERM/)
    })

    test("the line for a library in advance suffices if the library is loaded", async () => {
      const url = await loginAs(...ruleIn("redis.md", 0))
      expect(said(await doctor(url), "rights")[0]).toMatch(
        /^problem: .* may call the library, but not load it/,
      )
      await command(server.port, "FUNCTION", "LOAD", library.text)
      const diagnosis = await doctor(url)
      expect(diagnosis.code).toBe(0)
      expect(said(diagnosis, "rights")[0]).toBe("ok: this user may call the library, which is loaded")
      expect(said(diagnosis, "rights")[1]).toMatch(
        /^warning: rules do not work: this user lacks eval, evalsha, hget/,
      )
      expect(said(diagnosis, "latency").at(-1)).toMatch(/^ok: a decision by function/)
    })

    test("the line for an application that loads the library suffices, and rules need their own", async () => {
      const url = await loginAs(...ruleIn("redis.md", 1))
      const diagnosis = await doctor(url)
      expect(diagnosis.code).toBe(0)
      expect(said(diagnosis, "rights")[0]).toBe("ok: this user may load the library and call it")
      await command(
        server.port,
        "ACL",
        "SETUSER",
        "sluice",
        "+hget",
        "+hset",
        "+hdel",
        "+hlen",
        "+hgetall",
        "+lpush",
      )
      expect(said(await doctor(url), "rights")).toEqual(["ok: this user may load the library and call it"])
    })

    test.each(["+get", "+rpush", "+time", "+set"])("without %s alone, that right is named", async (right) => {
      const url = await loginAs(...ruleIn("redis.md", 1).filter((word) => word !== right))
      const diagnosis = await doctor(url)
      expect(diagnosis.code).toBe(1)
      expect(said(diagnosis, "rights")[0]).toMatch(new RegExp(`^problem: .* lacks ${right.slice(1)}$`))
      expect(fixes(diagnosis)).toContain(`ACL SETUSER <user> ${right}`)
    })

    test("a user without the keys of the prefix is a problem", async () => {
      const rules = ruleIn("redis.md", 1).map((word) => (word === "~sluice:*" ? "~other:*" : word))
      const diagnosis = await doctor(await loginAs(...rules, "+acl|whoami"))
      expect(diagnosis.code).toBe(1)
      expect(said(diagnosis, "rights")).toEqual([
        "problem: user sluice may not use keys that start with sluice:",
      ])
      expect(fixes(diagnosis)).toContain("ACL SETUSER sluice ~sluice:*")
      expect(
        said(
          await doctor(`redis://sluice:secret@127.0.0.1:${server.port}`, "--prefix", "other"),
          "rights",
        )[0],
      ).toMatch(/^ok/)
    })

    test("a wrong password is a problem, and no password appears in the output", async () => {
      await loginAs("sluice", "reset", "on", ">secret")
      const { code, out } = await sluice([
        "doctor",
        "--redis",
        `redis://sluice:guessed@127.0.0.1:${server.port}`,
      ])
      expect(code).toBe(1)
      expect(out).toContain("WRONGPASS")
      expect(out).not.toContain("guessed")
    })
  })
})

test("a server that needs a password is a problem with the form of the URL", async () => {
  const server = await startRedis({ args: ["--protected-mode", "no"] })
  onTestFinished(() => server.stop())
  await command(server.port, "CONFIG", "SET", "requirepass", "secret")
  const diagnosis = await doctor(server.url)
  expect(diagnosis).toMatchObject({ code: 1, reachable: true, problems: 1 })
  expect(said(diagnosis, "connection")[0]).toMatch(/^problem: NOAUTH/)
  expect(fixes(diagnosis)).toContain("redis://user:password@host:6379")
  expect((await doctor(server.url.replace("redis://", "redis://:secret@"))).code).toBe(0)
})

test("a server that cannot be reached exits with 3", async () => {
  const server = await startRedis()
  await server.stop()
  const diagnosis = await doctor(server.url)
  expect(diagnosis).toMatchObject({ code: 3, reachable: false })
  expect(said(diagnosis, "connection")[0]).toContain("ECONNREFUSED")
})

describe("a port that speaks something else gets advice", () => {
  const listening = async (server: Server) => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    onTestFinished(() => void server.close())
    return `127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const unreachable = { code: 3, reachable: false }

  test("rediss:// to a server without TLS", async () => {
    const server = await startRedis()
    onTestFinished(() => server.stop())
    const diagnosis = await doctor(server.url.replace("redis://", "rediss://"))
    expect(diagnosis).toMatchObject(unreachable)
    expect(fixes(diagnosis)).toContain("try redis:// if this port has no TLS")
  })

  test("redis:// to a port with TLS", async () => {
    const server = createTlsServer().on("tlsClientError", () => {})
    const address = await listening(server)
    const diagnosis = await doctor(`redis://${address}`)
    expect(diagnosis).toMatchObject(unreachable)
    expect(fixes(diagnosis)).toContain("try rediss:// if this port has TLS")
    // It has no certificate, so no client can connect.
    const secure = await doctor(`rediss://${address}`)
    expect(said(secure, "connection")[0]).toContain("handshake failure")
    expect(fixes(secure)).toContain("try redis:// if this port has no TLS")
  })

  test("a port that is no Redis", async () => {
    const address = await listening(createHttpServer((_, response) => response.end("hello")))
    const diagnosis = await doctor(`redis://${address}`)
    expect(diagnosis).toMatchObject(unreachable)
    expect(said(diagnosis, "connection")).toEqual([
      "problem: the server does not speak the protocol of Redis",
    ])
    expect(fixes(diagnosis)).toContain("Check the port")
  })
})

test("a server that hangs is given up after seconds", async () => {
  const server = await startRedis()
  onTestFinished(() => server.stop())
  process.kill(server.pid, "SIGSTOP")
  expect(await doctor(server.url)).toMatchObject({ code: 3, reachable: false })
})

test("without FCALL, the library goes by script, which is a warning", async () => {
  const server = await startRedis({ args: ["--rename-command", "FCALL", ""] })
  onTestFinished(() => server.stop())
  const diagnosis = await doctor(server.url)
  expect(diagnosis).toMatchObject({ code: 0, warnings: 1 })
  expect(said(diagnosis, "library")[0]).toMatch(/^warning: FCALL is not available/)
  expect(said(diagnosis, "rights")).toEqual(["ok: user default may run the library as a script"])
  expect(said(diagnosis, "latency").at(-1)).toMatch(/^ok: a decision by script/)
})

test("a replica is a problem that names its master", async () => {
  const master = await startRedis()
  onTestFinished(() => master.stop())
  const replica = await startReplica(master)
  onTestFinished(() => replica.stop())
  const diagnosis = await doctor(replica.url)
  expect(diagnosis.code).toBe(1)
  expect(said(diagnosis, "replication")[0]).toBe(
    `problem: this is a replica of 127.0.0.1:${master.port}, which refuses writes`,
  )
  expect(said(diagnosis, "decision")).toEqual(["skipped: a replica decides nothing"])
  expect(said(await doctor(master.url), "replication")[0]).toBe(
    "ok: master of 1; a failover loses the last writes",
  )
})

test("a clock that is off by two seconds is a warning", async () => {
  const server = await startRedis({ clockOff: 2_000 })
  onTestFinished(() => server.stop())
  const diagnosis = await doctor(server.url)
  expect(said(diagnosis, "clock")[0]).toMatch(/^warning: the server's clock is (1\.9|2) s ahead of ours/)
})

test("of a Cluster, every master is examined, and a decision is made", async () => {
  const cluster = await startCluster(3)
  onTestFinished(() => cluster.stop())
  const [first] = cluster.nodes
  const diagnosis = await doctor(first?.url as string)
  expect(diagnosis.findings.filter(({ level }) => level === "problem")).toEqual([])
  expect(said(diagnosis, "cluster")).toEqual(["ok: 3 masters serve all slots"])
  expect(said(diagnosis, "clock").length).toBe(3)
  expect(said(diagnosis, "latency").at(-1)).toMatch(/^ok: a decision by script/)
  await cluster.nodes[2]?.kill()
  await expect
    .poll(async () => said(await doctor(first?.url as string), "cluster")[0], { timeout: 15_000 })
    .toMatch(/^problem: the cluster is down/)
})
