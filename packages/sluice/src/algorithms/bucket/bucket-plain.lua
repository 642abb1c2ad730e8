-- A bucket without parts, steps or a line, that has room; `step` in bucket.lua is what it is a short form of.
function plain.bucket(terms, _, value, count, reply)
  local full, before = now, 0
  if value and #value == 12 then
    full = unpack(">i7", value)
    before = full + 1
  elseif value or not fresh then
    return nil
  end
  local ahead = max(full - now, 0) + count * terms.cost
  -- with room left it lies no further ahead than its capacity: no clock has jumped
  if ahead > terms.span or terms.parts or terms.step then return nil end
  reply[#reply + 1] = ahead
  return pack(">i7I5", now + ahead, terms.reach), now + ahead + 1, before
end

writers.bucket = write
