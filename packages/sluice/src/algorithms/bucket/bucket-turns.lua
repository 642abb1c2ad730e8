-- Turns and debt of a bucket; bucket.ts is the twin of this too.

-- Puts in place what a clock that went back has left.
local function mended(terms, key)
  local at, ahead, part, reach, anchor, lapsesAt, jumped, before = read(terms, key)
  if jumped then keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before) end
  return at, ahead, part, reach, anchor, lapsesAt, before
end

function bucket.turn(terms, key)
  local at, ahead, part = mended(terms, key)
  if terms.queue then
    if room(terms, ahead, part, 1) == 0 then return huge end
    return ahead + (part > 0 and 1 or 0)
  end
  if terms.cost > terms.span or (terms.cost == terms.span and (terms.costPart or 0) > (terms.spanPart or 0)) then
    return huge
  end
  local lackingPart = part + (terms.costPart or 0) - (terms.spanPart or 0)
  local over = lackingPart > (terms.parts or 1) and 2 or lackingPart > 0 and 1 or 0
  local lacking = max(0, ahead + terms.cost - terms.span + over)
  local step = terms.step
  return lacking > 0 and step and ceil(lacking / step) * step - (now - at) or lacking
end

function bucket.mark(terms, key)
  local at, ahead = read(terms, key)
  return at + ahead
end

function bucket.charge(terms, key, maxWait, reply)
  local at, ahead, part, _, anchor, lapsesAt, before = mended(terms, key)
  local fits = room(terms, ahead, part, 1)
  local most = max(ahead, 2 * terms.span + maxWait)
  ahead = ahead + terms.cost
  part = part + (terms.costPart or 0)
  if part >= (terms.parts or 1) then
    part = part - terms.parts
    ahead = ahead + 1
  end
  if ahead >= most then
    ahead = most
    part = 0
  end
  local reach = max(terms.reach, ceil((at - now + ahead) / 1000))
  keep(terms, key, at + ahead, part, reach, anchor, max(lapsesAt, now + (terms.life or 0)), before)
  reply[#reply + 1] = ahead
  if terms.parts or terms.step then reply[#reply + 1] = part end
  if terms.step then reply[#reply + 1] = now - at end
  return fits
end
