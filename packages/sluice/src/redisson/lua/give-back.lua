-- Takes back grants that came too late for those who asked.
-- KEYS     see state.lua
-- ARGV     [1] the layout of an entry, then for each grant its permits and its random bytes in hex
-- Returns  how many were still there
local _, _, type = readConfig()
local valueKey, permitsKey = keysOf(type)
local found = 0
for i = 2, #ARGV, 2 do
  local permits = tonumber(ARGV[i])
  if call("ZREM", permitsKey, packed(ARGV[1], ARGV[i + 1], permits)) == 1 then
    found = found + 1
    if call("EXISTS", valueKey) == 1 then call("INCRBY", valueKey, ARGV[i]) end
  end
end
return found
