-- Counts the free permits. Writes nothing.
--
-- KEYS     see state.lua
-- ARGV     [1] to [3] the rate, interval in ms and type to use if none is set, or ""
-- Returns  the free permits, or -1 if no rate is set
local rate, interval, type = readConfig()
if not rate then
  rate, interval, type = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
end
if not rate then return -1 end
local free = look(rate, interval, math.huge, keysOf(type))
return max(free, 0)
