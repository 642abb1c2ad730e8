import type { Redis } from "ioredis"
import type { RedisClient } from "sluice/redis"
import type { ManualClock } from "sluice/testing"

export type Layout = "Bc0I" | "Lc0I"

/** A client whose scripts use the test's clock instead of the server's. Keys still expire by the server's clock. */
export function onClock(client: Redis, clock: ManualClock): RedisClient {
  const head = `
    local server, clock = redis, tonumber(table.remove(ARGV))
    local redis = { call = function(name, ...)
      if name ~= "TIME" then return server.call(name, ...) end
      return { tostring(math.floor(clock / 1000)), tostring(clock % 1000 * 1000) }
    end }`
  return {
    run: (command, source, keys, args) =>
      command === "EVAL"
        ? client.eval(`${head}\n${source}`, keys.length, ...keys, ...args, clock())
        : Promise.reject(new Error("NOSCRIPT")),
  }
}

/** An entry as `struct.pack` lays it out. */
export function pack(layout: Layout | "fI", random: Buffer, permits: number): Buffer {
  const length = Buffer.alloc(layout === "Bc0I" ? 1 : layout === "Lc0I" ? 8 : 0)
  length.set(length.subarray(0, 1).fill(random.length))
  const tail = Buffer.alloc(4)
  tail.writeUInt32LE(permits)
  return Buffer.concat([length, random, tail])
}

/** Decodes an entry, which must have exactly this layout. */
export function unpack(layout: Layout, entry: Buffer): { random: Buffer; permits: number } {
  const head = layout === "Bc0I" ? 1 : 8
  const length = layout === "Bc0I" ? entry.readUInt8(0) : Number(entry.readBigUInt64LE(0))
  if (entry.length !== head + length + 4) throw new Error(`no ${layout}: ${entry.toString("hex")}`)
  return { random: entry.subarray(head, head + length), permits: entry.readUInt32LE(head + length) }
}

export const keysOf = (name: string, clientId: string) => [
  name,
  `{${name}}:value`,
  `{${name}}:value:${clientId}`,
  `{${name}}:permits`,
  `{${name}}:permits:${clientId}`,
]

/**
 * A reimplementation of RRateLimiter in Redis, including its faults. It uses the clock of its caller, keeps `value` and the
 * entries as two sources of truth, and computes a wait from the first entry.
 */
export function java(client: Redis, name: string, clock: () => number, layout: Layout = "Bc0I", id = "java") {
  const keys = keysOf(name, id)
  const run = (body: string, ...args: (string | number | Buffer)[]) =>
    client.eval(`${prologue(layout)}\n${body}`, keys.length, ...keys, ...args, clock())
  let drawn = 0
  return {
    /** Null if granted, or the wait in milliseconds. */
    tryAcquire(permits: number, random?: Buffer): Promise<unknown> {
      drawn += 1
      return run(tryAcquire, permits, random ?? Buffer.from(`${id}-${drawn}`.padEnd(16).slice(0, 16)))
    },
    availablePermits: () => run(availablePermits),
    release: (permits: number) => run(release, permits),
    /** As before 2026: `value` grew, and the entries stayed. */
    releaseOfOld: (permits: number) => client.incrby(keys[1] as string, permits),
  }
}

const prologue = (layout: Layout) => `
local layout, now = "${layout}", tonumber(table.remove(ARGV))
local function field(f) return redis.call("hget", KEYS[1], f) end
local rate, interval, kind = field("rate"), field("interval"), field("type")
assert(rate and interval and kind, "RateLimiter is not initialized")
rate, interval = tonumber(rate), tonumber(interval)
local valueName, permitsName = KEYS[2], KEYS[4]
if kind == "1" then valueName, permitsName = KEYS[3], KEYS[5] end
local function total(entries)
  local permits = 0
  for _, entry in ipairs(entries) do
    local _, held = struct.unpack(layout, entry)
    permits = permits + held
  end
  return permits
end
local function expiry()
  local keep = tonumber(field("keepAliveTime") or 0)
  local ttl = keep > 0 and keep or redis.call("pttl", KEYS[1])
  if keep > 0 then redis.call("pexpire", KEYS[1], keep) end
  if ttl > 0 then
    redis.call("pexpire", valueName, ttl)
    redis.call("pexpire", permitsName, ttl)
  end
end`

const tryAcquire = `
local wanted = tonumber(ARGV[1])
assert(rate >= wanted, "Requested permits amount cannot exceed defined rate")
local value = redis.call("get", valueName)
local wait = false
if value then
  value = tonumber(value)
  local released = total(redis.call("zrangebyscore", permitsName, 0, now - interval))
  if released > 0 then
    redis.call("zremrangebyscore", permitsName, 0, now - interval)
    if value + released > rate then
      value = rate - total(redis.call("zrange", permitsName, 0, -1))
    else
      value = value + released
    end
    redis.call("set", valueName, value)
  end
  if value < wanted then
    local first = redis.call("zrange", permitsName, 0, 0, "withscores")
    wait = 3 + interval - (now - tonumber(first[2]))
  end
else
  redis.call("set", valueName, rate)
end
if not wait then
  redis.call("zadd", permitsName, now, struct.pack(layout, #ARGV[2], ARGV[2], wanted))
  redis.call("decrby", valueName, wanted)
end
expiry()
return wait`

const availablePermits = `
local value = redis.call("get", valueName)
if not value then
  redis.call("set", valueName, rate)
  return rate
end
local released = total(redis.call("zrangebyscore", permitsName, 0, now - interval))
if released > 0 then
  redis.call("zremrangebyscore", permitsName, 0, now - interval)
  redis.call("set", valueName, value + released)
end
return tonumber(value) + released`

const release = `
local back = tonumber(ARGV[1])
local entries = redis.call("zrange", permitsName, 0, -1, "withscores")
for i = 1, #entries, 2 do
  if back <= 0 then break end
  local random, held = struct.unpack(layout, entries[i])
  redis.call("zrem", permitsName, entries[i])
  if held > back then
    redis.call("zadd", permitsName, entries[i + 1], struct.pack(layout, #random, random, held - back))
  end
  back = back - math.min(held, back)
end
local value = tonumber(redis.call("get", valueName) or rate)
redis.call("set", valueName, math.min(value + tonumber(ARGV[1]), rate))
expiry()`
