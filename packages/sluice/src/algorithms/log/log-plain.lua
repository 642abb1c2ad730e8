-- A log in use, without a line, that has room and from which no more than a few entries have left, and not all; `step` in
-- log.lua is what it is a short form of.
local WRAP = 281474976710656
-- The index up to which entries are looked at that may have left.
local SOME = "32"

local function units(sum, base) return (sum - base + WRAP) % WRAP end

-- Has a log dropped that matters until expiresAt and did until before.
local function expire(key, expiresAt, before)
  local stretch = ceil(expiresAt / STRETCH)
  if callersNow then
    call("PEXPIRE", key, format("%d", max(ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK))
  elseif stretch ~= ceil(before / STRETCH) then
    call("PEXPIREAT", key, format("%d", stretch * 900))
  end
end

function plain.log(terms, key, _, count, reply)
  local cost = count * terms.cost
  local head = call("LRANGE", key, "0", "2")
  local newest = head[3] and call("LINDEX", key, "-1") or head[2]
  if not newest or #newest > 19 then return nil end
  local from = now - terms.window + 1
  local _, base = unpack(">I7I6", head[1])
  -- how many entries have left, and how many of them matter to no other policy either: none does for longer than the next
  local left, gone = 0, 0
  local value, rest = head[2], nil
  while true do
    local at, sumAt, tillAt = unpack(">I7I6I6", value)
    if at >= from then break end
    if tillAt * 1000 <= now then gone = gone + 1 end
    left, base = left + 1, sumAt
    if left == 2 then rest = call("LRANGE", key, "3", SOME) end
    value = left == 1 and head[3] or rest and rest[left - 1]
    if not value then return nil end
  end
  local last, sum, till = unpack(">I7I6I6", newest)
  local total = units(sum, base) + cost
  if last > now or total > terms.limit then return nil end
  local expiresAt = max(ceil((now + terms.window) / 1000), till)
  local ownWindow = till >= ceil((last + terms.window) / 1000)
  local merges = ownWindow and floor(last / terms.merge) == floor(now / terms.merge)
  local at = #reply
  reply[at + 1] = total
  reply[at + 2] = terms.window
  local text = pack(">I7I6I6", now, (sum + cost) % WRAP, expiresAt)
  return text, expiresAt * 1000, till * 1000, merges, gone
end

function writers.log(key, value, expiresAt, before, merges, gone)
  if merges then
    call("LSET", key, "-1", value)
  else
    call("RPUSH", key, value)
  end
  if gone > 0 then call("LPOP", key, format("%d", gone)) end
  expire(key, expiresAt, before)
end
