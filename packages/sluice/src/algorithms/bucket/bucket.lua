-- Token bucket and leaky bucket; bucket.ts beside this file is its twin and says what the names mean.
-- State: a string, ">I7I5" full reach, then ">I5I5" part parts if there is a part, then ">I7" anchor in
-- interval mode. The length tells which of them are there: 12, 22, 19 or 29 bytes.
local bucket = { sent = { "parts", "span", "spanPart", "cost", "costPart", "reach", "step", "life" } }
algorithms.bucket = bucket

local function unpacked(value)
  local full, reach = struct.unpack(">I7I5", value)
  local part, parts, anchor = 0, 1, nil
  local size = #value
  if size == 22 or size == 29 then part, parts = struct.unpack(">I5I5", value, 13) end
  if size == 19 or size == 29 then anchor = struct.unpack(">I7", value, size - 6) end
  return full, reach, part, parts, anchor
end

local function keep(terms, view, key, reach, anchor)
  local full = view.at + view.ahead
  local value = struct.pack(">I7I5", full, reach)
  if view.part > 0 then value = value .. struct.pack(">I5I5", view.part, terms.parts) end
  if anchor then value = value .. struct.pack(">I7", anchor) end
  local expiresAt = math.max(full + 1, anchor and anchor + terms.life or 0)
  redis.call("SET", key, value, "PX", ttl(expiresAt))
end

function bucket.read(terms, key)
  local step = terms.step
  local view = { at = now, ahead = 0, part = 0, reach = terms.reach }
  local value = redis.call("GET", key)
  if not value then return view end
  local full, reach, part, parts, anchor = unpacked(value)
  if step > 0 and anchor and now < anchor + terms.life then
    view.at = anchor + math.floor((now - anchor) / step) * step
    view.anchor = math.min(anchor, view.at)
  end
  local ahead = full - view.at
  -- pieces of another size: round up, what was spent stays spent
  if part > 0 and parts ~= terms.parts then
    ahead = ahead + 1
    part = 0
  end
  if ahead < 0 then
    ahead = 0
    part = 0
  end
  -- further ahead than spending leads: the clock went back; all of it counts as spent now
  view.jumped = ahead > 2 * reach * 1000
  if view.jumped then
    ahead = reach * 1000
    part = 0
  end
  view.ahead, view.part, view.reach = ahead, part, reach
  return view
end

function bucket.room(terms, view, count)
  local parts, cost, costPart = terms.parts, terms.cost, terms.costPart
  local whole = terms.span - view.ahead
  local rest = terms.spanPart - view.part
  if rest < 0 then
    whole = whole - 1
    rest = rest + parts
  end
  local function fits(k)
    local pieces = k * costPart
    local carry = math.floor(pieces / parts)
    local needed = k * cost + carry
    return needed < whole or (needed == whole and pieces - carry * parts <= rest)
  end
  if whole < 0 then return 0 end
  if count == 1 then return fits(1) and 1 or 0 end
  -- k * costPart must stay an exact integer
  local most = math.min(count, math.floor(9007199254740991 / parts))
  local k = math.min(most, math.floor((whole + rest / parts) / (cost + costPart / parts)))
  while k > 0 and not fits(k) do k = k - 1 end
  while k < most and fits(k + 1) do k = k + 1 end
  return k
end

function bucket.take(terms, view, granted, key)
  local parts = terms.parts
  local pieces = granted * terms.costPart
  local carry = math.floor(pieces / parts)
  view.ahead = view.ahead + granted * terms.cost + carry
  view.part = view.part + pieces - carry * parts
  if view.part >= parts then
    view.part = view.part - parts
    view.ahead = view.ahead + 1
  end
  keep(terms, view, key, terms.reach, terms.step > 0 and view.at)
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
    if not view.anchor then
      redis.call("DEL", key)
      return
    end
  end
  keep(terms, view, key, view.reach, view.anchor)
end

function bucket.mend(terms, view, key)
  if view.jumped then keep(terms, view, key, view.reach, view.anchor) end
end

function bucket.tell(_, view, _, reply)
  reply[#reply + 1] = view.ahead
  reply[#reply + 1] = view.part
  reply[#reply + 1] = now - view.at
end
