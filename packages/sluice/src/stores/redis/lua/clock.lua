-- What every script shares: the time, read once, how long a key is kept, and strings, read once per key.
-- ARGV[1]  now in microseconds by the caller's clock, or "" for the server's.
local algorithms = {}
local call = redis.call
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local spread = unpack
local pack, unpack = struct.pack, struct.unpack
-- Clocks that differ by less are never taken for one that jumped.
local GRACE = 1000000
local now = tonumber(ARGV[1])
-- Redis expires keys by its own clock at the start of the script, a little behind the TIME read here; a
-- caller's clock may be much further off.
local slackMs = now and 60900 or 900
if not now then
  local time = call("TIME")
  now = time[1] * 1000000 + time[2]
end

-- Milliseconds to keep a key that matters until expiresAt.
local function ttl(expiresAt)
  return max(ceil((expiresAt - now) / 1000), 0) + slackMs
end

-- Strings by key, as they stand in this call; false is a key that may hold something else.
local strings = {}

-- Reads many strings at once; what is no string is left for get to complain of.
local function prefetch(keys)
  local values = call("MGET", spread(keys))
  for i = 1, #keys do strings[keys[i]] = values[i] end
end

local function get(key)
  local value = strings[key] or call("GET", key)
  strings[key] = value
  return value
end

local function set(key, value, expiresAt)
  call("SET", key, value, "PX", ttl(expiresAt))
  strings[key] = value
end

local function del(key)
  call("DEL", key)
  strings[key] = nil
end
