-- Grants requests in order until one does not fit.
-- A denial writes in three cases only. It corrects a `value` that would mislead Redisson's script. It removes expired entries if they
-- are many, as Redisson's script does. And it renews keepAliveTime.
--
-- KEYS     see state.lua
--
-- ARGV     [1] to [4] the rate, interval in ms, type and keepAliveTime in ms to use if none is set, or "".
--          [5] the layout of an entry, Bc0I or Lc0I.
--          Then two arguments per request: its permits, and 16 random bytes in hex.
--
-- Returns  the number of granted requests, the permits left, the wait in ms, the rate, the interval in ms.
--          The wait is the time until the next request passes. It is 0 if there is none or it exceeds the rate.
--          { -1 } if no rate is set. { -2, rate } if the first request exceeds the rate.
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
return { granted, free, wait, rate, interval }
