-- Token bucket and leaky bucket; bucket.ts beside this file is its twin and says what the names mean.
-- State: a string, ">i7I5" full reach, then ">I5I5" part parts if there is a part, then ">i7I7" anchor lapsesAt
-- if steps are counted. The length tells which of them are there: 12, 22, 26 or 36 bytes.
local bucket = { arity = 8, inString = true }
algorithms.bucket = bucket

function bucket.terms(at)
  return {
    parts = ARGV[at] + 0,
    span = ARGV[at + 1] + 0,
    spanPart = ARGV[at + 2] + 0,
    cost = ARGV[at + 3] + 0,
    costPart = ARGV[at + 4] + 0,
    reach = ARGV[at + 5] + 0,
    step = ARGV[at + 6] + 0,
    life = ARGV[at + 7] + 0,
  }
end

local function unpacked(value)
  local full, reach = unpack(">i7I5", value)
  local part, parts, anchor, lapsesAt = 0, 1, nil, 0
  local size = #value
  if size == 22 or size == 36 then part, parts = unpack(">I5I5", value, 13) end
  if size == 26 or size == 36 then anchor, lapsesAt = unpack(">i7I7", value, size - 13) end
  return full, reach, part, parts, anchor, lapsesAt
end

local function keep(terms, view, key, reach, lapsesAt)
  local full = view.at + view.ahead
  local value = pack(">i7I5", full, reach)
  if view.part > 0 then value = value .. pack(">I5I5", view.part, terms.parts) end
  if view.anchor then value = value .. pack(">i7I7", view.anchor, lapsesAt) end
  set(key, value, max(full + 1, view.anchor and lapsesAt or 0))
end

-- As many pieces of another size as hold this part, rounded up: what was spent stays spent.
local function rescaled(part, from, to)
  if part == 0 or from == to then return part end
  local product = part * to
  return product + from <= 9007199254740991 and floor((product + from - 1) / from) or to
end

function bucket.read(terms, key)
  local step = terms.step
  local value = get(key)
  if not value then
    local anchor = step > 0 and now or nil
    return { at = now, ahead = 0, part = 0, reach = terms.reach, anchor = anchor, lapsesAt = 0 }
  end
  local full, reach, part, parts, anchor, lapsesAt = unpacked(value)
  part = rescaled(part, parts, terms.parts)
  if part == terms.parts then
    full = full + 1
    part = 0
  end
  -- further ahead than spending leads: the clock went back; all of it counts as spent now
  local jumped = full - now > reach * 1000 + max(reach * 1000, GRACE)
  if jumped then
    full = now + reach * 1000
    part = 0
    anchor = nil
    lapsesAt = 0
  end
  local at = now
  if step > 0 then
    -- what was spent before steps were counted comes back at a step
    anchor = anchor or full
    at = anchor + floor((now - anchor) / step) * step
  end
  local spent = full > at or (full == at and part > 0)
  if not spent and now >= lapsesAt then
    at = now
    anchor = step > 0 and now or nil
  end
  if not spent then
    full = at
    part = 0
  end
  return {
    at = at, ahead = full - at, part = part, reach = reach, anchor = anchor, lapsesAt = lapsesAt, jumped = jumped,
  }
end

function bucket.room(terms, view, count)
  local parts, cost, costPart = terms.parts, terms.cost, terms.costPart
  local whole = terms.span - view.ahead
  local rest = terms.spanPart - view.part
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

function bucket.take(terms, view, granted, key)
  local parts = terms.parts
  local pieces = granted * terms.costPart
  local carry = floor(pieces / parts)
  view.ahead = view.ahead + granted * terms.cost + carry
  view.part = view.part + pieces - carry * parts
  if view.part >= parts then
    view.part = view.part - parts
    view.ahead = view.ahead + 1
  end
  keep(terms, view, key, terms.reach, max(view.lapsesAt, now + terms.life))
end

function bucket.give(terms, view, key)
  view.ahead = view.ahead - terms.cost
  view.part = view.part - terms.costPart
  if view.part < 0 then
    view.part = view.part + terms.parts
    view.ahead = view.ahead - 1
  end
  if view.ahead < 0 or (view.ahead == 0 and view.part == 0) then
    view.ahead = 0
    view.part = 0
    if view.lapsesAt <= now then
      del(key)
      return
    end
  end
  keep(terms, view, key, view.reach, view.lapsesAt)
end

function bucket.mend(terms, view, key)
  if view.jumped then keep(terms, view, key, view.reach, view.lapsesAt) end
end

function bucket.tell(terms, view, _, reply)
  reply[#reply + 1] = view.ahead
  if terms.parts > 1 or terms.step > 0 then reply[#reply + 1] = view.part end
  if terms.step > 0 then reply[#reply + 1] = now - view.at end
end
