-- What comes first in every script: the time, read once, and how keys are written that are dropped when they stop mattering.
-- ARGV[1]  now in microseconds by the caller's clock, or "" for the server's.
local call = redis.call
local floor, ceil, max, format = math.floor, math.ceil, math.max, string.format
local spread = unpack
local pack, unpack = struct.pack, struct.unpack
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

-- What looks at plain asks, and what writes them down, by algorithm; see plain.lua.
local plain, writers = {}, {}
-- Whether keys that no string was found under are certain to hold nothing else.
local fresh = false
