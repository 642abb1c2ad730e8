// Made by scripts/embed-lua.mjs from the Lua files: do not edit.
export const scripts = {
  acquire: {
    sha: "638b84ed65cfbf3beb9e343a772c66b834303534",
    source: `local call = redis.call
local byte, format = string.byte, string.format
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local time = call("TIME")
local now = time[1] * 1000 + floor(time[2] / 1000)
local function readConfig()
local found = call("HMGET", KEYS[1], "rate", "interval", "type", "keepAliveTime")
local rate, interval = tonumber(found[1]), tonumber(found[2])
if not rate or not interval or not found[3] then return nil end
return rate, interval, found[3], tonumber(found[4]) or 0
end
local function keysOf(type)
if type == "1" then return KEYS[3], KEYS[5] end
return KEYS[2], KEYS[4]
end
local function permitsIn(entry)
local size = #entry
local known = size == 8
or (size > 4 and byte(entry) == size - 5)
or (size > 11 and struct.unpack("L", entry) == size - 12)
return known and struct.unpack("I", entry, size - 3) or 1
end
local function sum(entries)
local permits = 0
for i = 1, #entries do permits = permits + permitsIn(entries[i]) end
return permits
end
local function packed(layout, hex, permits)
local random = hex:gsub("..", function(digits) return string.char(tonumber(digits, 16)) end)
return struct.pack(layout, #random, random, permits)
end
local FEW = 128
local function look(rate, interval, wanted, valueKey, permitsKey)
local edge = now - interval
local current = format("(%.0f", edge)
local left = sum(call("ZRANGEBYSCORE", permitsKey, "-inf", edge))
local entries = call("ZCOUNT", permitsKey, current, "+inf")
local value = tonumber(call("GET", valueKey))
local most = rate - entries
local free = value and value + left
local believed = entries > FEW and free and (free == most or (wanted <= free and free < most))
if not believed then free = rate - sum(call("ZRANGEBYSCORE", permitsKey, current, "+inf")) end
return free, value == free - left
end
local function untilLeft(permits, interval, permitsKey)
local current = format("(%.0f", now - interval)
local first, count = 0, 16
repeat
local entries = call("ZRANGEBYSCORE", permitsKey, current, "+inf", "WITHSCORES", "LIMIT", first, count)
for i = 1, #entries, 2 do
permits = permits - permitsIn(entries[i])
if permits <= 0 then return min(ceil(entries[i + 1] + interval - now), 9007199254740991) end
end
first, count = first + count, count * 2
until #entries == 0
return interval
end
local function expire(type, keepAlive, interval, valueKey, permitsKey)
if keepAlive > 0 then
call("PEXPIRE", KEYS[1], keepAlive)
call("PEXPIRE", valueKey, keepAlive)
call("PEXPIRE", permitsKey, keepAlive)
return
end
local ttl = call("PTTL", KEYS[1])
if ttl < 0 and type == "1" then ttl = interval + 1000 end
for _, key in ipairs({ valueKey, permitsKey }) do
if ttl < 0 then call("PERSIST", key) else call("PEXPIRE", key, max(ttl, 1)) end
end
end
local function settle(free, interval, valueKey, permitsKey)
call("ZREMRANGEBYSCORE", permitsKey, "-inf", now - interval)
call("SET", valueKey, format("%.0f", free))
end
local rate, interval, type, keepAlive = readConfig()
local unset = not rate
if unset then
rate, interval, type, keepAlive = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
end
if not rate then return { -1 } end
local layout = ARGV[5]
local asks, wanted = {}, 0
for i = 6, #ARGV, 2 do
asks[#asks + 1] = tonumber(ARGV[i])
wanted = wanted + asks[#asks]
end
if asks[1] > rate then return { -2, rate } end
local valueKey, permitsKey = keysOf(type)
local free, right = look(rate, interval, wanted, valueKey, permitsKey)
local granted = 0
while granted < #asks and asks[granted + 1] <= free do
granted = granted + 1
call("ZADD", permitsKey, now, packed(layout, ARGV[5 + granted * 2], asks[granted]))
free = free - asks[granted]
end
if granted > 0 and unset then
call("HSET", KEYS[1], "rate", ARGV[1], "interval", ARGV[2], "type", type, "keepAliveTime", ARGV[4])
end
if granted > 0 or not right then
settle(free, interval, valueKey, permitsKey)
expire(type, keepAlive, interval, valueKey, permitsKey)
elseif keepAlive > 0 then
expire(type, keepAlive, interval, valueKey, permitsKey)
end
local wait = 0
local next = asks[granted + 1]
if next and next <= rate then wait = untilLeft(next - free, interval, permitsKey) end
return { granted, free, wait, rate, interval }`,
  },
  availablePermits: {
    sha: "5c043c58e6b833f5f13490d8e18c5b27442d6f98",
    source: `local call = redis.call
local byte, format = string.byte, string.format
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local time = call("TIME")
local now = time[1] * 1000 + floor(time[2] / 1000)
local function readConfig()
local found = call("HMGET", KEYS[1], "rate", "interval", "type", "keepAliveTime")
local rate, interval = tonumber(found[1]), tonumber(found[2])
if not rate or not interval or not found[3] then return nil end
return rate, interval, found[3], tonumber(found[4]) or 0
end
local function keysOf(type)
if type == "1" then return KEYS[3], KEYS[5] end
return KEYS[2], KEYS[4]
end
local function permitsIn(entry)
local size = #entry
local known = size == 8
or (size > 4 and byte(entry) == size - 5)
or (size > 11 and struct.unpack("L", entry) == size - 12)
return known and struct.unpack("I", entry, size - 3) or 1
end
local function sum(entries)
local permits = 0
for i = 1, #entries do permits = permits + permitsIn(entries[i]) end
return permits
end
local function packed(layout, hex, permits)
local random = hex:gsub("..", function(digits) return string.char(tonumber(digits, 16)) end)
return struct.pack(layout, #random, random, permits)
end
local FEW = 128
local function look(rate, interval, wanted, valueKey, permitsKey)
local edge = now - interval
local current = format("(%.0f", edge)
local left = sum(call("ZRANGEBYSCORE", permitsKey, "-inf", edge))
local entries = call("ZCOUNT", permitsKey, current, "+inf")
local value = tonumber(call("GET", valueKey))
local most = rate - entries
local free = value and value + left
local believed = entries > FEW and free and (free == most or (wanted <= free and free < most))
if not believed then free = rate - sum(call("ZRANGEBYSCORE", permitsKey, current, "+inf")) end
return free, value == free - left
end
local function untilLeft(permits, interval, permitsKey)
local current = format("(%.0f", now - interval)
local first, count = 0, 16
repeat
local entries = call("ZRANGEBYSCORE", permitsKey, current, "+inf", "WITHSCORES", "LIMIT", first, count)
for i = 1, #entries, 2 do
permits = permits - permitsIn(entries[i])
if permits <= 0 then return min(ceil(entries[i + 1] + interval - now), 9007199254740991) end
end
first, count = first + count, count * 2
until #entries == 0
return interval
end
local function expire(type, keepAlive, interval, valueKey, permitsKey)
if keepAlive > 0 then
call("PEXPIRE", KEYS[1], keepAlive)
call("PEXPIRE", valueKey, keepAlive)
call("PEXPIRE", permitsKey, keepAlive)
return
end
local ttl = call("PTTL", KEYS[1])
if ttl < 0 and type == "1" then ttl = interval + 1000 end
for _, key in ipairs({ valueKey, permitsKey }) do
if ttl < 0 then call("PERSIST", key) else call("PEXPIRE", key, max(ttl, 1)) end
end
end
local function settle(free, interval, valueKey, permitsKey)
call("ZREMRANGEBYSCORE", permitsKey, "-inf", now - interval)
call("SET", valueKey, format("%.0f", free))
end
local rate, interval, type = readConfig()
if not rate then
rate, interval, type = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
end
if not rate then return -1 end
local free = look(rate, interval, math.huge, keysOf(type))
return max(free, 0)`,
  },
  setRate: {
    sha: "4200c96dc47dd9307ecec7b9ae1a541469b28c06",
    source: `local call = redis.call
local byte, format = string.byte, string.format
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local time = call("TIME")
local now = time[1] * 1000 + floor(time[2] / 1000)
local function readConfig()
local found = call("HMGET", KEYS[1], "rate", "interval", "type", "keepAliveTime")
local rate, interval = tonumber(found[1]), tonumber(found[2])
if not rate or not interval or not found[3] then return nil end
return rate, interval, found[3], tonumber(found[4]) or 0
end
local function keysOf(type)
if type == "1" then return KEYS[3], KEYS[5] end
return KEYS[2], KEYS[4]
end
local function permitsIn(entry)
local size = #entry
local known = size == 8
or (size > 4 and byte(entry) == size - 5)
or (size > 11 and struct.unpack("L", entry) == size - 12)
return known and struct.unpack("I", entry, size - 3) or 1
end
local function sum(entries)
local permits = 0
for i = 1, #entries do permits = permits + permitsIn(entries[i]) end
return permits
end
local function packed(layout, hex, permits)
local random = hex:gsub("..", function(digits) return string.char(tonumber(digits, 16)) end)
return struct.pack(layout, #random, random, permits)
end
local FEW = 128
local function look(rate, interval, wanted, valueKey, permitsKey)
local edge = now - interval
local current = format("(%.0f", edge)
local left = sum(call("ZRANGEBYSCORE", permitsKey, "-inf", edge))
local entries = call("ZCOUNT", permitsKey, current, "+inf")
local value = tonumber(call("GET", valueKey))
local most = rate - entries
local free = value and value + left
local believed = entries > FEW and free and (free == most or (wanted <= free and free < most))
if not believed then free = rate - sum(call("ZRANGEBYSCORE", permitsKey, current, "+inf")) end
return free, value == free - left
end
local function untilLeft(permits, interval, permitsKey)
local current = format("(%.0f", now - interval)
local first, count = 0, 16
repeat
local entries = call("ZRANGEBYSCORE", permitsKey, current, "+inf", "WITHSCORES", "LIMIT", first, count)
for i = 1, #entries, 2 do
permits = permits - permitsIn(entries[i])
if permits <= 0 then return min(ceil(entries[i + 1] + interval - now), 9007199254740991) end
end
first, count = first + count, count * 2
until #entries == 0
return interval
end
local function expire(type, keepAlive, interval, valueKey, permitsKey)
if keepAlive > 0 then
call("PEXPIRE", KEYS[1], keepAlive)
call("PEXPIRE", valueKey, keepAlive)
call("PEXPIRE", permitsKey, keepAlive)
return
end
local ttl = call("PTTL", KEYS[1])
if ttl < 0 and type == "1" then ttl = interval + 1000 end
for _, key in ipairs({ valueKey, permitsKey }) do
if ttl < 0 then call("PERSIST", key) else call("PEXPIRE", key, max(ttl, 1)) end
end
end
local function settle(free, interval, valueKey, permitsKey)
call("ZREMRANGEBYSCORE", permitsKey, "-inf", now - interval)
call("SET", valueKey, format("%.0f", free))
end
local rate, interval, type, keepAlive = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local mode = ARGV[5]
if mode == "try" then
call("HSETNX", KEYS[1], "rate", ARGV[1])
call("HSETNX", KEYS[1], "interval", ARGV[2])
call("HSETNX", KEYS[1], "keepAliveTime", ARGV[4])
local set = call("HSETNX", KEYS[1], "type", type)
if set == 1 and keepAlive > 0 then call("PEXPIRE", KEYS[1], keepAlive) end
return set
end
local before = call("HMGET", KEYS[1], "type", "keepAliveTime")
local valueKey, permitsKey = keysOf(type)
local kept = mode == "keep" and before[1] == type
local free = rate
if kept then free = look(rate, interval, math.huge, valueKey, permitsKey) end
call("HSET", KEYS[1], "rate", ARGV[1], "interval", ARGV[2], "type", type, "keepAliveTime", ARGV[4])
if keepAlive > 0 then
call("PEXPIRE", KEYS[1], keepAlive)
elseif (tonumber(before[2]) or 0) > 0 then
call("PERSIST", KEYS[1])
end
if free < rate then
settle(free, interval, valueKey, permitsKey)
expire(type, keepAlive, interval, valueKey, permitsKey)
else
call("DEL", KEYS[2], KEYS[3], KEYS[4], KEYS[5])
end
return 1`,
  },
  getConfig: {
    sha: "9f6d6e1122f6347d9a284239ea378953d9c3e5c9",
    source: `local call = redis.call
local byte, format = string.byte, string.format
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local time = call("TIME")
local now = time[1] * 1000 + floor(time[2] / 1000)
local function readConfig()
local found = call("HMGET", KEYS[1], "rate", "interval", "type", "keepAliveTime")
local rate, interval = tonumber(found[1]), tonumber(found[2])
if not rate or not interval or not found[3] then return nil end
return rate, interval, found[3], tonumber(found[4]) or 0
end
local function keysOf(type)
if type == "1" then return KEYS[3], KEYS[5] end
return KEYS[2], KEYS[4]
end
local function permitsIn(entry)
local size = #entry
local known = size == 8
or (size > 4 and byte(entry) == size - 5)
or (size > 11 and struct.unpack("L", entry) == size - 12)
return known and struct.unpack("I", entry, size - 3) or 1
end
local function sum(entries)
local permits = 0
for i = 1, #entries do permits = permits + permitsIn(entries[i]) end
return permits
end
local function packed(layout, hex, permits)
local random = hex:gsub("..", function(digits) return string.char(tonumber(digits, 16)) end)
return struct.pack(layout, #random, random, permits)
end
local FEW = 128
local function look(rate, interval, wanted, valueKey, permitsKey)
local edge = now - interval
local current = format("(%.0f", edge)
local left = sum(call("ZRANGEBYSCORE", permitsKey, "-inf", edge))
local entries = call("ZCOUNT", permitsKey, current, "+inf")
local value = tonumber(call("GET", valueKey))
local most = rate - entries
local free = value and value + left
local believed = entries > FEW and free and (free == most or (wanted <= free and free < most))
if not believed then free = rate - sum(call("ZRANGEBYSCORE", permitsKey, current, "+inf")) end
return free, value == free - left
end
local function untilLeft(permits, interval, permitsKey)
local current = format("(%.0f", now - interval)
local first, count = 0, 16
repeat
local entries = call("ZRANGEBYSCORE", permitsKey, current, "+inf", "WITHSCORES", "LIMIT", first, count)
for i = 1, #entries, 2 do
permits = permits - permitsIn(entries[i])
if permits <= 0 then return min(ceil(entries[i + 1] + interval - now), 9007199254740991) end
end
first, count = first + count, count * 2
until #entries == 0
return interval
end
local function expire(type, keepAlive, interval, valueKey, permitsKey)
if keepAlive > 0 then
call("PEXPIRE", KEYS[1], keepAlive)
call("PEXPIRE", valueKey, keepAlive)
call("PEXPIRE", permitsKey, keepAlive)
return
end
local ttl = call("PTTL", KEYS[1])
if ttl < 0 and type == "1" then ttl = interval + 1000 end
for _, key in ipairs({ valueKey, permitsKey }) do
if ttl < 0 then call("PERSIST", key) else call("PEXPIRE", key, max(ttl, 1)) end
end
end
local function settle(free, interval, valueKey, permitsKey)
call("ZREMRANGEBYSCORE", permitsKey, "-inf", now - interval)
call("SET", valueKey, format("%.0f", free))
end
local rate, interval, type, keepAlive = readConfig()
if not rate then return {} end
return { rate, interval, type, keepAlive }`,
  },
  giveBack: {
    sha: "92500d37e27b51e098dd001799474c933bab1093",
    source: `local call = redis.call
local byte, format = string.byte, string.format
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local time = call("TIME")
local now = time[1] * 1000 + floor(time[2] / 1000)
local function readConfig()
local found = call("HMGET", KEYS[1], "rate", "interval", "type", "keepAliveTime")
local rate, interval = tonumber(found[1]), tonumber(found[2])
if not rate or not interval or not found[3] then return nil end
return rate, interval, found[3], tonumber(found[4]) or 0
end
local function keysOf(type)
if type == "1" then return KEYS[3], KEYS[5] end
return KEYS[2], KEYS[4]
end
local function permitsIn(entry)
local size = #entry
local known = size == 8
or (size > 4 and byte(entry) == size - 5)
or (size > 11 and struct.unpack("L", entry) == size - 12)
return known and struct.unpack("I", entry, size - 3) or 1
end
local function sum(entries)
local permits = 0
for i = 1, #entries do permits = permits + permitsIn(entries[i]) end
return permits
end
local function packed(layout, hex, permits)
local random = hex:gsub("..", function(digits) return string.char(tonumber(digits, 16)) end)
return struct.pack(layout, #random, random, permits)
end
local FEW = 128
local function look(rate, interval, wanted, valueKey, permitsKey)
local edge = now - interval
local current = format("(%.0f", edge)
local left = sum(call("ZRANGEBYSCORE", permitsKey, "-inf", edge))
local entries = call("ZCOUNT", permitsKey, current, "+inf")
local value = tonumber(call("GET", valueKey))
local most = rate - entries
local free = value and value + left
local believed = entries > FEW and free and (free == most or (wanted <= free and free < most))
if not believed then free = rate - sum(call("ZRANGEBYSCORE", permitsKey, current, "+inf")) end
return free, value == free - left
end
local function untilLeft(permits, interval, permitsKey)
local current = format("(%.0f", now - interval)
local first, count = 0, 16
repeat
local entries = call("ZRANGEBYSCORE", permitsKey, current, "+inf", "WITHSCORES", "LIMIT", first, count)
for i = 1, #entries, 2 do
permits = permits - permitsIn(entries[i])
if permits <= 0 then return min(ceil(entries[i + 1] + interval - now), 9007199254740991) end
end
first, count = first + count, count * 2
until #entries == 0
return interval
end
local function expire(type, keepAlive, interval, valueKey, permitsKey)
if keepAlive > 0 then
call("PEXPIRE", KEYS[1], keepAlive)
call("PEXPIRE", valueKey, keepAlive)
call("PEXPIRE", permitsKey, keepAlive)
return
end
local ttl = call("PTTL", KEYS[1])
if ttl < 0 and type == "1" then ttl = interval + 1000 end
for _, key in ipairs({ valueKey, permitsKey }) do
if ttl < 0 then call("PERSIST", key) else call("PEXPIRE", key, max(ttl, 1)) end
end
end
local function settle(free, interval, valueKey, permitsKey)
call("ZREMRANGEBYSCORE", permitsKey, "-inf", now - interval)
call("SET", valueKey, format("%.0f", free))
end
local _, _, type = readConfig()
local valueKey, permitsKey = keysOf(type)
local value = tonumber(call("GET", valueKey))
local back = 0
for i = 2, #ARGV, 2 do
local permits = tonumber(ARGV[i])
if call("ZREM", permitsKey, packed(ARGV[1], ARGV[i + 1], permits)) == 1 then back = back + permits end
end
if back > 0 and value then call("SET", valueKey, format("%.0f", value + back), "KEEPTTL") end
return back`,
  },
  delete: {
    sha: "47a3cc2a1158c3519485857518494386ff86c8ca",
    source: `return redis.call("DEL", KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5])`,
  },
} as const
