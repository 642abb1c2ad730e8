-- A bucket without parts, steps or a line, that has room; `step` in bucket.lua is what it is a short form of.
local full = now
before = 0
if whole then
  full = unpack(">i7", value, from)
  before = full + 1
end
local ahead = cost
if full > now then ahead = full - now + cost end
-- with room left it lies no further ahead than its capacity: no clock has jumped
if ahead <= span and (before > 0 or fresh and not value) then
  first = ahead
  expiresAt = now + ahead + 1
  text = pack(">i7I5", now + ahead, reach)
end
