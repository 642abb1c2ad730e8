-- Shared by the scripts of sluice/redisson: the time, and the state of an RRateLimiter as Redisson stores it.
--
-- KEYS  [1] the configuration, a hash
--       [2] value
--       [3] value of this client
--       [4] permits
--       [5] permits of this client
--
-- `permits` is a sorted set with one entry per grant. The score is the millisecond of the grant.
-- `value` is the rate minus the permits of all entries, including expired entries that are not removed yet.
local call = redis.call
local byte, format = string.byte, string.format
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max

local time = call("TIME")
local now = time[1] * 1000 + floor(time[2] / 1000)

-- Returns the rate, the interval, the type and the keepAliveTime. The rate is nil if none is set.
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

-- Returns the permits of an entry: its last four bytes. Before them is a random string or a random float ("fI").
-- The length of the string is in one byte ("Bc0I") or in eight ("Lc0I"). An entry of another form counts as one permit.
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

-- With more entries than this, their sum would block the server for too long. Then a plausible `value` is trusted.
local FEW = 128

-- Returns the number of free permits, and whether the stored state can stay: `value` is correct, and few entries have expired.
-- Up to FEW entries are summed. With more, `value` is trusted in two cases:
-- - It counts one permit per entry. That is the least, because no entry holds less.
-- - It counts more than that and still has room for `wanted`.
local function look(rate, interval, wanted, valueKey, permitsKey)
  local edge = now - interval
  local current = format("(%.0f", edge)
  local entries = call("ZCOUNT", permitsKey, current, "+inf")
  local many = call("ZCOUNT", permitsKey, "-inf", edge) > FEW
  -- Those that have left are removed unseen where the others tell what is free.
  if many and entries <= FEW then
    return rate - sum(call("ZRANGEBYSCORE", permitsKey, current, "+inf")), false
  end
  local left = sum(call("ZRANGEBYSCORE", permitsKey, "-inf", edge))
  local value = tonumber(call("GET", valueKey))
  local most = rate - entries
  local free = value and value + left
  local believed = entries > FEW and free and (free == most or (wanted <= free and free < most))
  if not believed then free = rate - sum(call("ZRANGEBYSCORE", permitsKey, current, "+inf")) end
  return free, value == free - left and not many
end

-- Returns the milliseconds until entries with this many permits have expired.
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

-- Sets the expiry of `value` and `permits` to that of the configuration, or to none.
-- Redisson's script renews their expiry only if the configuration has one. Any other expiry would delete entries it added.
-- The keys of one client are different: no other client writes them, so they may expire after one interval.
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

-- Removes expired entries and sets `value` to match.
local function settle(free, interval, valueKey, permitsKey)
  call("ZREMRANGEBYSCORE", permitsKey, "-inf", now - interval)
  call("SET", valueKey, format("%.0f", free))
end
