-- Takes back grants that came too late for those who asked.
-- KEYS     see state.lua
-- ARGV     [1] the layout of an entry, then for each grant its permits and its random bytes in hex
-- Returns  the permits that were still there
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
