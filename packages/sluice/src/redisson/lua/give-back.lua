-- Gives back grants whose callers have left.
--
-- KEYS     see state.lua
-- ARGV     [1] the layout of an entry. Then two arguments per grant: its permits, and its random bytes in hex.
-- Returns  how many permits were given back
local _, _, type = readConfig()
local valueKey, permitsKey = keysOf(type)
local value = tonumber(call("GET", valueKey))
local back = 0
for i = 2, #ARGV, 2 do
  local permits = tonumber(ARGV[i])
  if call("ZREM", permitsKey, packed(ARGV[1], ARGV[i + 1], permits)) == 1 then back = back + permits end
end
if back > 0 and value then call("SET", valueKey, format("%.0f", value + back), "KEEPTTL") end
return back
