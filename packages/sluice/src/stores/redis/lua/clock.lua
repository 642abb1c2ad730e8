-- What every script shares: the time, read once, and strings, read once per key and dropped when they stop mattering.
-- ARGV[1]  now in microseconds by the caller's clock, or "" for the server's.
-- What algorithms and modes there are in this script, by name.
local algorithms = {}
local modes = {}
local call = redis.call
local floor, ceil, min, max, huge = math.floor, math.ceil, math.min, math.max, math.huge
local format, sub = string.format, string.sub
local spread = unpack
local pack, unpack = struct.pack, struct.unpack
-- Clocks that differ by less are never taken for one that jumped.
local GRACE = 1000000
-- Redis drops a key at the end of the stretch of 900 ms in which it stops mattering: a write that leaves a key in its
-- stretch leaves its expiry alone, which is more than half of what a write costs.
local STRETCH = 900000
-- By a caller's clock the expiry is set anew with every write, and a minute late, for Redis drops keys by its own.
local CALLERS_SLACK = 60900
local callersNow = tonumber(ARGV[1])
local now = callersNow
if not now then
  local time = call("TIME")
  now = time[1] * 1000000 + time[2]
end
-- While a turn is booked, now is the time of the turn, and lead is how far that is ahead of the clock.
local lead = 0

-- Strings by key, as they stand in this call; false is a key that may hold something else.
local strings = {}
-- Whether keys that no string was found under are certain to hold nothing else.
local fresh = false

local function drop(key)
  call("DEL", key)
  strings[key] = nil
end

local function get(key)
  local value = strings[key] or call("GET", key)
  strings[key] = value
  return value
end

-- Writes what matters until expiresAt over what mattered until before, 0 for nothing. Numbers become text by format
-- because Redis takes six times as long.
local function write(key, value, expiresAt, before)
  local stretch = ceil(expiresAt / STRETCH)
  if callersNow then
    call("SET", key, value, "PX", format("%d", max(ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK))
  elseif stretch == ceil(before / STRETCH) then
    call("SET", key, value, "KEEPTTL")
  else
    call("SET", key, value, "PXAT", format("%d", stretch * 900))
  end
end

-- The same for a key that may be read again in this call.
local function set(key, value, expiresAt, before)
  write(key, value, expiresAt, before)
  strings[key] = value
end
