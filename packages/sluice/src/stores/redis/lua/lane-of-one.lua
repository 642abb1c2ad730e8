-- Asks of one part, or of several: see lane.lua.
if #ARGV == TERMS + 3 then
  local number, each = keys, 1
  --@ stores/redis/lua/amounts.lua
  --@ read
  --@ terms of the call
  local size = SIZE
  for i = 1, keys do
    local key, value = KEYS[i], values and values[i]
    if written then value = written[key] or value end
    local length = value and #value
    local from, whole = 1, length == size
    local cost = counts and cost * counts[i] or cost
    if costs then cost = cost * costs[i] end
    local text, expiresAt, before, merges, gone, first, second, third
    --@ plain
    if not text then break end
    local failed
    --@ write
    if failed then break end
    if written and values then written[key] = text end
    local at = told
    --@ told of a part
    told, used = at, i
  end
  asks = used
else
  --@ several
end
