-- A bucket by steps, without a line, that has room; `step` in bucket.lua is what it is a short form of. The cost and the span
-- are in pieces of a microsecond, which has so many parts.
local full, part, of, anchor, lapsesAt = now, 0, parts, now, 0
before = 0
if whole then
  local _
  if parts == 1 then
    full, _, anchor, lapsesAt = unpack(">i7I5i7I7", value, from)
  else
    full, _, part, of, anchor, lapsesAt = unpack(">i7I5I5I5i7I7", value, from)
  end
  before = lapsesAt > full and lapsesAt or full + 1
end
local at = now - (now - anchor) % step
if full < at or (full == at and part == 0) then
  if now >= lapsesAt then at, anchor = now, now end
  full, part = at, 0
end
local ahead = (full - at) * parts + part + cost
-- with room left it lies no further ahead than its capacity: no clock has jumped
if ahead <= span and of == parts and (before > 0 or fresh and not value) then
  second = ahead % parts
  first = (ahead - second) / parts
  third = now - at
  full = at + first
  if lapsesAt < now + life then lapsesAt = now + life end
  if parts == 1 then
    text = pack(">i7I5i7I7", full, reach, anchor, lapsesAt)
  else
    text = pack(">i7I5I5I5i7I7", full, reach, second, parts, anchor, lapsesAt)
  end
  expiresAt = lapsesAt > full and lapsesAt or full + 1
end
