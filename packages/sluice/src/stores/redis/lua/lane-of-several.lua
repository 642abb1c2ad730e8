-- Asks of parts of any algorithms, some of which may share a record while the others have keys of their own: see lane.lua, and
-- record.lua.
local max, sub = math.max, string.sub
local parts, perAsk, at = 0, 0, 4
local terms = {}
-- By part, its algorithm, where its terms begin, the place of its key among those of an ask, how many bytes its state has there,
-- and if it is in a record, where that begins; then the parts that are not, and the places of keys that hold strings.
local kinds, places, spots, sizes, begins, apart, stringSpots = {}, {}, {}, {}, {}, {}, {}
-- Of the record, the place of its key, what it begins with, and how many bytes it has.
local spot, head, size = nil, "", 0
while at <= #ARGV do
  parts = parts + 1
  --@ widths of a part
  local label = ARGV[at]
  if label == "" or not spot then
    perAsk = perAsk + 1
    if bytes > 0 then stringSpots[#stringSpots + 1] = perAsk end
  end
  if label == "" then
    spots[parts], sizes[parts], apart[#apart + 1] = perAsk, bytes, parts
  else
    spot = spot or perAsk
    spots[parts], begins[parts] = spot, size
    head, size = head .. pack("Bc0B", #label, label, bytes), size + bytes
  end
  places[parts] = at
  for i = at + 1, at + width do terms[i] = ARGV[i] + 0 end
  at = at + width + 1
end
head = head .. "\0"
local begin = 8 + #head
size = begin + size - 1
local number, each = keys / perAsk, parts
--@ stores/redis/lua/amounts.lua
if #stringSpots == perAsk then
  --@ stores/redis/lua/read.lua
else
  -- of those that are no lists, which are read when they are looked at
  local names, indexes, absent = {}, {}, nil
  for before = 0, keys - 1, perAsk do
    for i = 1, #stringSpots do
      names[#names + 1], indexes[#indexes + 1] = KEYS[before + stringSpots[i]], before + stringSpots[i]
    end
  end
  values = {}
  for i, value in ipairs(call("MGET", spread(names))) do
    values[indexes[i]] = value
    if not value then
      absent = absent or {}
      absent[#absent + 1] = names[i]
    end
  end
  fresh = absent and try("EXISTS", spread(absent)) == 0
end
local texts, ends, befores, merging, going, lengths = {}, {}, {}, {}, {}, {}
while used < keys do
  local at, looked = told, 0
  local times = counts and counts[asks + 1] or 1
  -- the record, and whether it begins as it should; what is behind may be another block, of more than seven bytes
  local held = spot and values[used + spot]
  if written and spot then held = written[KEYS[used + spot]] or held end
  local holds = held and (#held == size or #held > size + 7) and sub(held, 8, begin - 1) == head
  local states, till = "", 0
  -- all are looked at before the first is written
  while looked < parts do
    local part = looked + 1
    local key, place = KEYS[used + spots[part]], places[part]
    local value, from, whole = held, 1, holds
    if begins[part] then
      from = begin + begins[part]
    else
      value = values[used + spots[part]]
      if written then value = written[key] or value end
      whole = value and #value == sizes[part]
    end
    local count = costs and times * costs[asks * each + part] or times
    local text, expiresAt, before, merges, gone, first, second, third
    --@ plain part
    if not text then break end
    looked = part
    if begins[part] then
      states = states .. text
      if expiresAt > till then till = expiresAt end
    else
      texts[part], ends[part], befores[part], merging[part], going[part] = text, expiresAt, before, merges, gone
      lengths[part] = value and #value
    end
    --@ told of a part
  end
  if looked < parts then break end
  local failed
  if spot then
    local key, text, expiresAt, before, length = KEYS[used + spot], nil, nil, nil, nil
    --@ stores/redis/lua/lane-record.lua
  end
  for i = 1, failed and 0 or #apart do
    local part = apart[i]
    local key, text, expiresAt, before, length = KEYS[used + spots[part]], texts[part], ends[part], befores[part], lengths[part]
    if kinds[part] == "log" then
      local merges, gone = merging[part], going[part]
      --@ algorithms/log/log-write.lua
    else
      --@ stores/redis/lua/write.lua
      if written and not failed then written[key] = text end
    end
    if failed then break end
  end
  if failed then break end
  asks, used, told = asks + 1, used + perAsk, at
end
