-- Counts the permits that are free, and writes nothing.
-- KEYS     see state.lua
-- ARGV     [1] to [3] rate, interval in ms and type where nobody has set any, or ""
-- Returns  the free permits, or -1 where nobody has set a rate
local rate, interval, type = readConfig()
if not rate then
  rate, interval, type = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
end
if not rate then return -1 end
local free = look(rate, interval, math.huge, keysOf(type))
return max(free, 0)
