-- Grants asks in the order they come, until one does not fit. A denial writes nothing, but for two things: it puts
-- right a `value` that would mislead Redisson's script, and it is a use that keepAliveTime counts from.
-- KEYS     see state.lua
-- ARGV     [1] to [4] rate, interval in ms, type and keepAliveTime in ms to set where nobody has set any, or ""
--          [5] the layout of an entry, Bc0I or Lc0I
--          then for each ask its permits and 16 random bytes in hex
-- Returns  how many asks were granted, the permits left, the ms until the next ask passes (0 if there is none or it
--          is for more than the rate), the rate, the interval in ms. -1 where nobody has set a rate; -2 and the rate
--          if the first ask is for more than it.
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
