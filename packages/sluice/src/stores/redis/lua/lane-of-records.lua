-- Asks of parts that are all there is in the first block of a record: see lane.lua, and record.lua.
local parts = (#ARGV - 3) / (TERMS + 1)
local head, terms, texts = "", {}, {}
for part = 1, parts do
  local at = 3 + (part - 1) * (TERMS + 1)
  local label = ARGV[at + 1]
  head = head .. pack("Bc0B", #label, label, SIZE)
  for i = 1, TERMS do terms[(part - 1) * TERMS + i] = tonumber(ARGV[at + 1 + i]) end
end
head = head .. "\0"
local begin = 8 + #head
local size = begin + parts * SIZE - 1
--@ read
for i = 1, keys do
  local key, value = KEYS[i], values[i]
  local count = counts and counts[i] or 1
  local ends, at, looked = 0, told, 0
  -- what is behind it may be another block, of more than the seven bytes that are read here
  local whole = value and (#value == size or #value > size + 7) and sub(value, 8, begin - 1) == head
  while looked < parts do
    local from, place = begin + looked * SIZE, looked * TERMS
    --@ terms of a part
    cost = cost * count
    local text, expiresAt, before, merges, gone, first, second
    --@ plain
    if not text then break end
    looked = looked + 1
    texts[looked] = text
    if expiresAt > ends then ends = expiresAt end
    reply[at + 1], reply[at + 2] = first, second
    at = second and at + 2 or at + 1
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
  --@ write
  if failed then break end
  asks, used, told = i, i, at
end
