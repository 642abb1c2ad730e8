-- Asks of parts of one algorithm that are all there is in the first block of a record: see lane.lua, and record.lua.
local max, sub, concat = math.max, string.sub, table.concat
local parts, head, size, at = 0, "", 0, 4
local terms, texts = {}, {}
-- By part, where its terms begin, and its state in the record.
local places, begins = {}, {}
while at <= #ARGV do
  parts = parts + 1
  --@ widths of a part
  local label = ARGV[at]
  head = head .. pack("Bc0B", #label, label, bytes)
  places[parts], begins[parts] = at, size
  for i = at + 1, at + width do terms[i] = ARGV[i] + 0 end
  at, size = at + width + 1, size + bytes
end
head = head .. "\0"
local begin = 8 + #head
size = begin + size - 1
local number, each = keys, parts
--@ stores/redis/lua/amounts.lua
--@ read
for i = 1, keys do
  local key, value = KEYS[i], values[i]
  if written then value = written[key] or value end
  local times = counts and counts[i] or 1
  local ends, at, looked = 0, told, 0
  -- what is behind it may be another block, of more than the seven bytes that are read here
  local whole = value and (#value == size or #value > size + 7) and sub(value, 8, begin - 1) == head
  while looked < parts do
    local part = looked + 1
    local from, place = begin + begins[part], places[part]
    local count = costs and times * costs[(i - 1) * each + part] or times
    local text, expiresAt, before, merges, gone, first, second, third
    --@ plain part
    if not text then break end
    looked = part
    texts[part] = text
    if expiresAt > ends then ends = expiresAt end
    --@ told of a part
  end
  if looked < parts then break end
  local held, holds, states, till = value, whole, concat(texts), ends
  local text, expiresAt, before, length, failed
  --@ stores/redis/lua/lane-record.lua
  if failed then break end
  asks, used, told = i, i, at
end
