-- Asks of one part, or of several: see lane.lua.
if #ARGV == TERMS + 3 then
  --@ read
  --@ terms of the call
  local size = SIZE
  for i = 1, keys do
    local key, value = KEYS[i], values and values[i]
    local length = value and #value
    local from, whole = 1, length == size
    local cost = counts and cost * counts[i] or cost
    local text, expiresAt, before, merges, gone, first, second, third
    --@ plain
    if not text then break end
    local failed
    --@ write
    if failed then break end
    local at = told
    --@ told of a part
    told, used = at, i
  end
  asks = used
else
  --@ several
end
