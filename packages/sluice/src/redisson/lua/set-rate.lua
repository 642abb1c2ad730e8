-- Sets the rate, the interval, the type and the keepAliveTime.
--
-- KEYS     see state.lua
--
-- ARGV     [1] rate
--          [2] interval in ms
--          [3] type: 0 for all clients together, 1 for each
--          [4] keepAliveTime in ms, 0 for none
--          [5] try: set only if none is set. keep: keep the entries. reset: delete the entries.
--
-- Returns  1, or 0 if a rate was set already and [5] is try
local rate, interval, type, keepAlive = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local mode = ARGV[5]

if mode == "try" then
  call("HSETNX", KEYS[1], "rate", ARGV[1])
  call("HSETNX", KEYS[1], "interval", ARGV[2])
  call("HSETNX", KEYS[1], "keepAliveTime", ARGV[4])
  local set = call("HSETNX", KEYS[1], "type", type)
  if set == 1 and keepAlive > 0 then call("PEXPIRE", KEYS[1], keepAlive) end
  return set
end

local before = call("HMGET", KEYS[1], "type", "keepAliveTime")
local valueKey, permitsKey = keysOf(type)
local kept = mode == "keep" and before[1] == type
local free = rate
if kept then free = look(rate, interval, math.huge, valueKey, permitsKey) end

call("HSET", KEYS[1], "rate", ARGV[1], "interval", ARGV[2], "type", type, "keepAliveTime", ARGV[4])
if keepAlive > 0 then
  call("PEXPIRE", KEYS[1], keepAlive)
elseif (tonumber(before[2]) or 0) > 0 then
  call("PERSIST", KEYS[1])
end
if free < rate then
  settle(free, interval, valueKey, permitsKey)
  expire(type, keepAlive, interval, valueKey, permitsKey)
else
  call("DEL", KEYS[2], KEYS[3], KEYS[4], KEYS[5])
end
return 1
