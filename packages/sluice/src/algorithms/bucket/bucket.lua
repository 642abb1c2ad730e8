-- Token bucket and leaky bucket; bucket.ts beside this file is its twin and says what the names mean.
-- State: a string, ">i7I5" full reach, then ">I5I5" part parts if there are parts, then ">i7I7" anchor lapsesAt
-- if steps are counted, then ">i7I7" last low and a byte if a turn was booked. The length tells which of them are
-- there: 12, 22, 26 or 36 bytes, and 15 more.
-- Terms: step and life are left out where no steps are counted; parts, spanPart and costPart where parts is 1; queue
-- where it is 0.
local bucket = {}
-- under two names, because plain asks are looked at in two ways, with steps and without
algorithms.bucket, algorithms.stepwise = bucket, bucket

local function read(terms, key)
  local step = terms.step
  local full, reach, part, anchor, lapsesAt, expiresAt, last, low = now, terms.reach, 0, nil, 0, 0, 0, 0
  local value = get(key)
  if value then
    full, reach = unpack(">i7I5", value)
    expiresAt = full + 1
    local size = #value
    if size % 2 == 1 then
      last, low = unpack(">i7I7", value, size - 14)
      size = size - 15
    end
    if size == 26 or size == 36 then
      anchor, lapsesAt = unpack(">i7I7", value, size - 13)
      expiresAt = max(expiresAt, lapsesAt)
    end
    if size == 22 or size == 36 then
      local from, to = 1, terms.parts or 1
      part, from = unpack(">I5I5", value, 13)
      if from ~= to then
        -- as many pieces of another size as hold this part, rounded up: what was spent stays spent
        local product = part * to
        part = product + from <= 9007199254740991 and floor((product + from - 1) / from) or to
      end
      if part == to then
        full = full + 1
        part = 0
      end
    end
  end
  -- further ahead than spending leads: the clock went back; all of it counts as spent now
  local jumped = full - now > reach * 1000 + max(terms.reach * 1000, GRACE)
  if jumped then
    full = now + reach * 1000
    part = 0
    anchor = nil
    lapsesAt = 0
    last = 0
    low = 0
  end
  local at = now
  if step then
    -- what was spent before steps were counted comes back at a step
    anchor = anchor or full
    at = anchor + floor((now - anchor) / step) * step
  end
  local spent = full > at or (full == at and part > 0)
  if not spent and now >= lapsesAt then
    at = now
    anchor = step and now
  end
  if not spent then
    full = at
    part = 0
  end
  return at, full - at, part, reach, anchor, lapsesAt, jumped, expiresAt, last, low
end

local function keep(terms, key, full, part, reach, anchor, lapsesAt, before, last, low)
  local value = pack(">i7I5", full, reach)
  local expiresAt = full + 1
  if terms.parts then value = value .. pack(">I5I5", part, terms.parts) end
  if anchor then
    value = value .. pack(">i7I7", anchor, lapsesAt)
    expiresAt = max(expiresAt, lapsesAt)
  end
  if last >= now then value = value .. pack(">i7I7", last, low) .. "t" end
  set(key, value, expiresAt, before)
end

local function room(terms, ahead, part, count)
  local parts, cost, costPart = terms.parts or 1, terms.cost, terms.costPart or 0
  local whole = terms.span - ahead
  local rest = (terms.spanPart or 0) - part
  if rest < 0 then
    whole = whole - 1
    rest = rest + parts
  end
  if whole < 0 then return 0 end
  if count == 1 then return (cost < whole or (cost == whole and costPart <= rest)) and 1 or 0 end
  local function fits(k)
    local pieces = k * costPart
    local carry = floor(pieces / parts)
    local needed = k * cost + carry
    return needed < whole or (needed == whole and pieces - carry * parts <= rest)
  end
  -- k * costPart must stay an exact integer
  local most = min(count, floor(9007199254740991 / parts))
  local k = min(most, floor((whole + rest / parts) / (cost + costPart / parts)))
  while k > 0 and not fits(k) do k = k - 1 end
  while k < most and fits(k + 1) do k = k + 1 end
  return k
end

function bucket.step(terms, key, count, granted, spend, reply)
  local at, ahead, part, reach, anchor, lapsesAt, jumped, before, last, low = read(terms, key)
  granted = granted or room(terms, ahead, part, count)
  if not reply then return granted end

  if spend and granted > 0 then
    if lead > 0 then
      low = last > now - lead and min(low, ahead) or ahead
      last = max(last, now)
    end
    ahead = ahead + granted * terms.cost
    local parts = terms.parts
    if parts then
      local pieces = granted * terms.costPart
      local carry = floor(pieces / parts)
      ahead = ahead + carry
      part = part + pieces - carry * parts
      if part >= parts then
        part = part - parts
        ahead = ahead + 1
      end
    end
    lapsesAt = max(lapsesAt, now + (terms.life or 0))
    keep(terms, key, at + ahead, part, terms.reach + ceil(lead / 1000), anchor, lapsesAt, before, last, low)
  elseif spend and jumped then
    keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before, last, low)
  end

  reply[#reply + 1] = ahead
  if terms.parts or terms.step then reply[#reply + 1] = part end
  if terms.step then reply[#reply + 1] = now - at end
  return granted
end

function bucket.till(terms, key)
  local _, _, _, _, _, _, _, expiresAt = read(terms, key)
  return expiresAt
end

function bucket.give(terms, key, debitedAt)
  local at, ahead, part, reach, anchor, lapsesAt, _, before, last, low = read(terms, key)
  local whole, pieces = terms.cost, terms.costPart or 0
  if debitedAt >= 0 then
    -- without the debit the bucket may have been full for as long: what has been refilled since is not given twice
    local step = terms.step
    local refilled = step and at - anchor - floor((debitedAt - anchor) / step) * step or now - debitedAt
    whole = whole - max(refilled, 0)
    if whole <= 0 or (last > now and low == 0) then return end
    -- nor what would run over before a turn comes
    if last > now and whole >= low then whole, pieces = low, 0 end
  end
  low = max(low - whole - (pieces > 0 and 1 or 0), 0)
  ahead = ahead - whole
  part = part - pieces
  if part < 0 then
    part = part + terms.parts
    ahead = ahead - 1
  end
  if ahead < 0 or (ahead == 0 and part == 0) then
    ahead = 0
    part = 0
    if lapsesAt <= now then return drop(key) end
  end
  keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before, last, low)
end
