-- What the scripts of sluice/redisson share: the time, and how Redisson keeps the state of an RRateLimiter.
-- KEYS  [1] the configuration, a hash  [2] value  [3] value of this client  [4] permits  [5] permits of this client
--       `permits` holds an entry for each grant, by the millisecond it was given; `value` is the rate less the permits
--       of all entries, also of those that have left and are not yet removed.
local call = redis.call
local byte, format = string.byte, string.format
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max

local time = call("TIME")
local now = time[1] * 1000 + floor(time[2] / 1000)

-- The rate, the interval, the type and the time to keep alive; the rate is nil where nobody has set one.
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

-- The permits of an entry are its last four bytes. Before them comes a random string, its length in one byte ("Bc0I")
-- or in eight ("Lc0I"), or a random float ("fI"). Whatever else is there counts as one permit.
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

-- Beyond this many entries `value` is believed where it can be true, for their sum would hold up the server.
local FEW = 128

-- How many permits are free, and what `value` would be if it were right: less by those of entries that have left.
-- The entries decide. Of many, `value` is believed when it has room for what is wanted and for the entries, or when
-- it says no although no entry can hold less than one permit.
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

-- Milliseconds until entries of this many permits have left.
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

-- Redisson's script moves an expiry of `value` and `permits` only if the configuration has one; any other would end
-- the entries that it adds. So they live as long as the configuration, and without end if it does. What a
-- client has for itself no other script adds to: it goes when it stops mattering.
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

-- Removes what has left and writes `value` down to match.
local function settle(free, interval, valueKey, permitsKey)
  call("ZREMRANGEBYSCORE", permitsKey, "-inf", now - interval)
  call("SET", valueKey, format("%.0f", free))
end
