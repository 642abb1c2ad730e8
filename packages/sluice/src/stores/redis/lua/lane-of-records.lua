-- Asks of parts that are all there is in the first block of a record: see lane.lua, and record.lua.
local max, sub, concat = math.max, string.sub, table.concat
local parts, head, size, at = 0, "", 0, 4
local terms, texts = {}, {}
-- By part, its algorithm if there are several, where its terms begin, and its state in the record.
local kinds, places, begins = {}, {}, {}
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
  local length = value and #value
  local whole = value and (length == size or length > size + 7) and sub(value, 8, begin - 1) == head
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
  local rest = whole and sub(value, size + 1) or ""
  local text, expiresAt = pack(">I7", ends) .. head .. concat(texts), ends
  local before, failed = whole and unpack(">I7", value) or 0, nil
  if rest ~= "" then
    local till = unpack(">I7", rest)
    before = max(before, till)
    if till + LEFT_OUT > now then text, expiresAt = text .. rest, max(ends, till) end
  end
  --@ stores/redis/lua/write.lua
  if failed then break end
  if written then written[key] = text end
  asks, used, told = i, i, at
end
