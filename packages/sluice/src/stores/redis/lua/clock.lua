-- What comes first in every script: the time, read once, and what all of it uses. No function yet: see lane.lua.
-- ARGV[1]  now in microseconds by the caller's clock, or "" for the server's.
local call, try = redis.call, redis.pcall
local floor, ceil, max, format, byte, sub = math.floor, math.ceil, math.max, string.format, string.byte, string.sub
local concat = table.concat
local spread = unpack
local pack, unpack = struct.pack, struct.unpack
-- Redis drops a key at the end of the stretch of 900 ms in which it stops mattering: a write that leaves a key in its
-- stretch leaves its expiry alone, which is more than half of what a write costs.
local STRETCH = 900000
-- By a caller's clock the expiry is set anew with every write, and a minute late, for Redis drops keys by its own.
local CALLERS_SLACK = 60900
local callersNow = tonumber(ARGV[1])
-- What of a record no longer matters is left out as late as Redis would have dropped it; by a caller's clock, never: it may
-- go back, and Redis drops nothing by it.
local LEFT_OUT = callersNow and math.huge or STRETCH
local now = callersNow
if not now then
  local time = call("TIME")
  now = time[1] * 1000000 + time[2]
end

local keys = #KEYS
local reply = { now }
-- How many asks, and keys of theirs, are done with, and where the reply to the ask at hand begins.
local asks, used, told = 0, 0, 1
-- The strings under keys, by their place among them, once they have been read at once.
local values
-- Whether keys that no string was found under are certain to hold nothing else.
local fresh = false
