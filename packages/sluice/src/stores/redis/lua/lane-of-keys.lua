-- Asks of several parts, each of which has a key of its own: see lane.lua.
local parts = (#ARGV - 3) / TERMS
local texts, ends, befores, merging, going = {}, {}, {}, {}, {}
local terms = {}
for i = 4, #ARGV do terms[i] = ARGV[i] + 0 end
local number, each = keys / parts, parts
--@ stores/redis/lua/amounts.lua
while used < keys do
  local at = told
  local times = counts and counts[asks + 1] or 1
  local looked = 0
  -- all are looked at before the first is written
  while looked < parts do
    local place = looked * TERMS + 3
    local count = costs and times * costs[asks * each + looked + 1] or times
    local key, value = KEYS[used + looked + 1], values and values[used + looked + 1]
    local from, whole = 1, false
    local text, expiresAt, before, merges, gone, first, second, third
    --@ plain part
    if not text then break end
    looked = looked + 1
    texts[looked], ends[looked], befores[looked], merging[looked], going[looked] = text, expiresAt, before, merges, gone
    --@ told of a part
  end
  if looked < parts then break end
  local failed
  for part = 1, parts do
    local key, text, expiresAt, before, merges, gone =
      KEYS[used + part], texts[part], ends[part], befores[part], merging[part], going[part]
    --@ write
    if failed then break end
  end
  if failed then break end
  asks, used, told = asks + 1, used + parts, at
end
