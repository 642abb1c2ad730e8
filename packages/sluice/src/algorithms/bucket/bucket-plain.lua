-- A bucket without parts, steps or a line, that has room; `step` in bucket.lua is what it is a short form of.
function plain.bucket(terms, key, value, count, reply)
  local full, before = now, 0
  if value and #value == 12 then
    full = unpack(">i7", value)
    before = full + 1
  elseif value or not fresh then
    return false
  end
  local ahead = max(full - now, 0) + count * terms.cost
  -- with room left it lies no further ahead than its capacity: no clock has jumped
  if ahead > terms.span or terms.parts or terms.step then return false end
  if reply then
    write(key, pack(">i7I5", now + ahead, terms.reach), now + ahead + 1, before)
    reply[#reply + 1] = ahead
  end
  return true
end
