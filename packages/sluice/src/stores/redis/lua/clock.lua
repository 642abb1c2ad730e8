-- What comes first in every script: the time, read once, and what all of it uses. No function yet: see lane.lua.
-- ARGV[1]  now in microseconds by the caller's clock, or "" for the server's.
local call, try = redis.call, redis.pcall
local format, pack, unpack, spread = string.format, struct.pack, struct.unpack, unpack
-- Redis drops a key at the end of the stretch of 900 ms in which it stops mattering: a write that leaves a key in its
-- stretch leaves its expiry alone, which is more than half of what a write costs.
local STRETCH = 900000
-- By a caller's clock the expiry is set anew with every write, and a minute late, for Redis drops keys by its own.
local CALLERS_SLACK = 60900
local callersNow = ARGV[1] ~= "" and ARGV[1] + 0
-- What of a record no longer matters is left out as late as Redis would have dropped it; by a caller's clock, never: it may
-- go back, and Redis drops nothing by it.
local LEFT_OUT = callersNow and math.huge or STRETCH
local now = callersNow
if not now then
  local time = call("TIME")
  now = time[1] * 1000000 + time[2]
end

local keys = #KEYS
-- with room for the answer to one ask, because a table that grows is made anew
local reply = { now, nil, nil }
-- How many asks, and keys of theirs, are done with, and where the reply to the ask at hand begins.
local asks, used, told = 0, 0, 1
-- The strings under keys, by their place among them, once they have been read at once.
local values
-- Whether keys that no string was found under are certain to hold nothing else.
local fresh = false
-- The count of each ask, and what each costs under each of its parts, of asks that differ in those; and if a key may come
-- twice, the strings that the lane has written, by key: see amounts.lua.
local counts, costs, written
