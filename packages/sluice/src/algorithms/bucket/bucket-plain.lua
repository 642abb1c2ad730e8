-- A bucket without steps or a line, that has room; `step` in bucket.lua is what it is a short form of. The cost and the span
-- are in pieces of a microsecond, which has so many parts.
local full, part, of = now, 0, parts
before = 0
if whole then
  if parts == 1 then
    full = unpack(">i7", value, from)
  else
    local _
    full, _, part, of = unpack(">i7I5I5I5", value, from)
  end
  before = full + 1
end
local ahead = cost
if full >= now then ahead = (full - now) * parts + part + cost end
-- with room left it lies no further ahead than its capacity: no clock has jumped
if ahead <= span and of == parts and (before > 0 or fresh and not value) then
  if parts == 1 then
    first = ahead
    text = pack(">i7I5", now + first, reach)
  else
    second = ahead % parts
    first = (ahead - second) / parts
    text = pack(">i7I5I5I5", now + first, reach, second, parts)
  end
  expiresAt = now + first + 1
end
