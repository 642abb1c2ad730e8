-- A log in use, without a line, that has room and from which no more than a few entries have left, and not all; `step` in
-- log.lua is what it is a short form of. Entries are looked at up to index 32. Nothing may be raised, so what is shorter
-- than an entry is left alone.
local WRAP = 281474976710656
local head = try("LRANGE", key, "0", "2")
local newest = head[3] and try("LINDEX", key, "-1") or head[2]
if newest and #newest == 19 and #head[1] >= 19 then
  local from = now - window + 1
  local _, base = unpack(">I7I6", head[1])
  -- how many entries have left, and how many of them matter to no other policy either: none does for longer than the next
  local left = 0
  local oldest, rest, passed = head[2], nil, 0
  gone = 0
  while oldest and #oldest >= 19 do
    local at, sum, till = unpack(">I7I6I6", oldest)
    if at >= from then break end
    if till * 1000 <= now then gone = gone + 1 end
    left, base = left + 1, sum
    if left == 2 then
      rest, passed = try("LRANGE", key, "3", "10"), 1
    elseif left == 10 then
      rest, passed = try("LRANGE", key, "11", "32"), 9
    end
    oldest = left == 1 and head[3] or rest and rest[left - passed]
  end
  local last, sum, till = unpack(">I7I6I6", newest)
  local total = (sum - base + WRAP) % WRAP + cost
  if oldest and #oldest >= 19 and last <= now and total <= limit then
    before = till * 1000
    expiresAt = now + window
    expiresAt = expiresAt + -expiresAt % 1000
    if expiresAt < before then expiresAt = before end
    merges = before >= last + window and last - last % merge == now - now % merge
    first, second = total, window
    text = pack(">I7I6I6", now, (sum + cost) % WRAP, expiresAt / 1000)
  end
end
