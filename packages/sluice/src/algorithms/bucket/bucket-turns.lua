-- Turns and debt of a bucket; bucket-turns.ts is its twin, and bucket.ts for the turn itself.

-- Puts in place what a clock that went back has left.
local function mended(terms, key)
  local at, ahead, part, reach, anchor, lapsesAt, jumped, before, last, low = read(terms, key)
  if jumped then keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before, last, low) end
  return at, ahead, part, reach, anchor, lapsesAt, before, last, low
end

function bucket.turn(terms, key)
  local at, ahead, part = mended(terms, key)
  if terms.queue then
    -- rounded down, or what is rounded up would add up from turn to turn
    return room(terms, ahead, part, 1) == 0 and huge or ahead
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

bucket.lineWidth = 6

function bucket.line(terms, key)
  local at, ahead, part, _, anchor, lapsesAt, _, _, last, low = read(terms, key)
  return { at + ahead, part, last, low, anchor or -1, lapsesAt }
end

function bucket.restore(terms, key, line)
  local full, part, last, low, anchor, lapsesAt = spread(line)
  if max(full + 1, lapsesAt) <= now then return drop(key) end
  local _, _, _, reach, _, _, _, before = read(terms, key)
  keep(terms, key, full, part, reach, anchor >= 0 and anchor, lapsesAt, before, last, low)
end

function bucket.charge(terms, key, maxWait, reply)
  local at, ahead, part, _, anchor, lapsesAt, before, last, low = mended(terms, key)
  local fits = room(terms, ahead, part, 1)
  local parts, spanPart = terms.parts or 1, terms.spanPart or 0
  local carry = 2 * spanPart >= parts and 1 or 0
  -- in whole steps: part of one would be paid with the next
  if terms.step then maxWait = maxWait - maxWait % terms.step end
  local most, mostPart = 2 * terms.span + carry + maxWait, 2 * spanPart - carry * parts
  if ahead > most or (ahead == most and part > mostPart) then most, mostPart = ahead, part end
  ahead = ahead + terms.cost
  part = part + (terms.costPart or 0)
  if part >= parts then
    part = part - parts
    ahead = ahead + 1
  end
  if ahead > most or (ahead == most and part > mostPart) then ahead, part = most, mostPart end
  local debt = ahead + (part > 0 and 1 or 0)
  local reach = max(terms.reach, ceil((at - now + debt) / 1000))
  lapsesAt = max(lapsesAt, now + (terms.life or 0))
  if terms.step then
    -- debt may last until a step that comes later than any spending leads
    lapsesAt = max(lapsesAt, at + ceil(debt / terms.step) * terms.step)
  end
  keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before, last, low)
  reply[#reply + 1] = ahead
  if terms.parts or terms.step then reply[#reply + 1] = part end
  if terms.step then reply[#reply + 1] = now - at end
  return fits
end
