-- Writes the first block of a record, of these states, which matter until then, before what else the record has held: see
-- record.lua.
local rest = holds and sub(held, size + 1) or ""
text, expiresAt = pack(">I7", till) .. head .. states, till
before, length = holds and unpack(">I7", held) or 0, held and #held
if rest ~= "" then
  local others = unpack(">I7", rest)
  before = max(before, others)
  if others + LEFT_OUT > now then text, expiresAt = text .. rest, max(till, others) end
end
--@ stores/redis/lua/write.lua
if written and not failed then written[key] = text end
