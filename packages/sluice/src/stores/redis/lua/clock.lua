-- What every script shares: the time, read once, and how long a key is kept.
-- ARGV[1]  now in microseconds by the caller's clock, or "" for the server's.
local algorithms = {}
local call = redis.call
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
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
