-- Sliding log and sliding window; log.ts beside this file is its twin and says what the names mean.
-- State: a list of entries, each ">I7I6I6" at sum till, then ">I5" lead if it was booked; the base at index 0.
local log = {}
algorithms.log = log

local WRAP = 281474976710656
local PRUNE = 32

local function units(sum, base) return (sum - base + WRAP) % WRAP end

local function expire(key, expiresAt, before)
  local failed
  --@ algorithms/log/log-expire.lua
  if failed then error({ err = failed }) end
end

local function packed(at, sum, till, leads)
  local value = pack(">I7I6I6", at, sum, till)
  return leads and leads > 0 and value .. pack(">I5", leads) or value
end
local BASE = packed(0, 0, 0)

local function entry(index, value)
  local at, sum, till = unpack(">I7I6I6", value)
  return { index = index, at = at, sum = sum, till = till, leads = #value > 19 and unpack(">I5", value, 20) or 0 }
end

local function entryAt(key, index) return entry(index, call("LINDEX", key, index)) end

-- The first entry between two whose value reaches a target, given that the one below does not and the one above
-- does. Guesses in proportion and halves in turn: every probe is a LINDEX, the dearer the deeper in the list.
local function search(key, value, target, below, above)
  local guess = true
  while above.index - below.index > 1 do
    local share = guess and (target - value(below)) / (value(above) - value(below)) or 0.5
    local index = below.index + floor(share * (above.index - below.index))
    local probe = entryAt(key, max(below.index + 1, min(index, above.index - 1)))
    if value(probe) >= target then above = probe else below = probe end
    guess = not guess
  end
  return above
end

-- The entry before the first whose value reaches a target, and that first, if there is one.
local function around(key, head, newest, value, target)
  local base, first, second = entry(0, head[1]), entry(1, head[2]), head[3] and entry(2, head[3])
  if value(first) >= target then return base, first end
  if second and value(second) >= target then return first, second end
  newest.index = call("LLEN", key) - 1
  if value(newest) < target then return newest, nil end
  local found = search(key, value, target, second or first, newest)
  return entryAt(key, found.index - 1), found
end

local function read(terms, key)
  local head = call("LRANGE", key, "0", "2")
  local size = #head
  if size == 0 then
    return { head = head, first = 1, base = 0, total = 0, last = 0, leads = 0, sum = 0, till = 0, expiresAt = 0 }
  end
  local newestValue = size < 3 and head[size] or call("LINDEX", key, "-1")
  local last, sum, till = unpack(">I7I6I6", newestValue)
  local leads = #newestValue > 19 and unpack(">I5", newestValue, 20) or 0
  local reach = till * 1000 - last
  -- further ahead than a window reaches: the clock went back; what counted then counts as spent or booked now
  if last - now > max(reach, GRACE) + leads * 1000 then
    local newest = { at = last, sum = sum, till = till }
    local before = around(key, head, newest, function(each) return each.till end, floor(last / 1000) + 1)
    local total = units(sum, before.sum)
    last = now + leads * 1000
    till = ceil((last + reach) / 1000)
    return {
      head = head, first = 1, firstValue = packed(last, total, till, leads), base = 0, total = total, last = last,
      leads = leads, sum = total, till = till, jumped = true,
    }
  end
  -- most often no more than one entry has left since the last grant
  local from = now - terms.window + 1
  local first, firstValue, base = 1, head[2], nil
  local at, sumAt = unpack(">I7I6", head[2])
  if at >= from then
    local _, sumBefore = unpack(">I7I6", head[1])
    base = sumBefore
  elseif size == 3 and unpack(">I7", head[3]) >= from then
    first, firstValue, base = 2, head[3], sumAt
  else
    local newest = { at = last, sum = sum, till = till, leads = leads }
    local before, found = around(key, head, newest, function(each) return each.at end, from)
    first, base = before.index + 1, before.sum
    firstValue = found and packed(found.at, found.sum, found.till, found.leads)
  end
  return {
    head = head, first = first, firstValue = firstValue, base = base, total = units(sum, base), last = last,
    leads = leads, sum = sum, till = till, expiresAt = till * 1000,
  }
end

-- Clears away entries that count neither here nor under the policy they were granted under. None matters for longer than
-- those after it: most often it is enough to look at the last of them.
local function prune(key, view)
  local most = min(view.first - 1, PRUNE)
  if most == 0 then return end
  local function matters(value) return unpack(">I6", value, 14) * 1000 > now - lead end
  local old = most < #view.head and view.head
  if not old and matters(call("LINDEX", key, most)) then old = call("LRANGE", key, 0, most) end
  local gone = most
  if old then
    gone = 0
    while gone < most and not matters(old[gone + 2]) do gone = gone + 1 end
  end
  if gone == 0 then return end
  call("LPOP", key, gone)
  view.first = view.first - gone
end

-- Puts in place what a clock that went back has left.
local function mend(view, key)
  call("DEL", key)
  call("RPUSH", key, BASE, packed(view.last, view.sum, view.till, view.leads))
  expire(key, view.till * 1000, 0)
  view.expiresAt = view.till * 1000
end

local function take(terms, view, granted, key)
  -- never before the newest entry, or a clock that went back would unsort the log
  local at = max(now, view.last)
  local sum = (view.sum + granted * terms.cost) % WRAP
  local till = max(ceil((at + terms.window) / 1000), view.till)
  -- an entry of a shorter window stays as it is: its units must not be held for longer
  local ownWindow = view.till >= ceil((view.last + terms.window) / 1000)
  local sameSubWindow = floor(view.last / terms.merge) == floor(at / terms.merge)
  local value = packed(at, sum, till, ceil(lead / 1000))
  local first = view.firstValue
  if #view.head == 0 then
    call("RPUSH", key, BASE, value)
  elseif view.total > 0 and ownWindow and sameSubWindow then
    call("LSET", key, "-1", value)
    if unpack(">I6", first, 8) == view.sum then first = nil end
  else
    call("RPUSH", key, value)
  end
  view.firstValue = first or value
  if #view.head > 0 then prune(key, view) end
  expire(key, till * 1000, view.expiresAt)
  view.total = view.total + granted * terms.cost
  view.last, view.sum, view.till, view.leads = at, sum, till, ceil(lead / 1000)
end

local function room(terms, view, count)
  if view.leads > 0 and view.last > now then return 0 end
  return min(count, max(floor((terms.limit - view.total) / terms.cost), 0))
end

-- The first entry with which at least this many of the units that count have been spent.
local function reaching(key, view, amount)
  local function spent(each) return units(each.sum, view.base) end
  local first = entry(view.first, view.firstValue)
  if spent(first) >= amount then return first end
  local newest = {
    index = call("LLEN", key) - 1, at = view.last, sum = view.sum, till = view.till, leads = view.leads,
  }
  return search(key, spent, amount, first, newest)
end

-- The newest units go: the log is cut after the entry that reaches what is left.
local function giveNewest(terms, view, key)
  local left = view.total - terms.cost
  if left <= 0 then
    call("LTRIM", key, 0, view.first - 1)
  else
    local cut = reaching(key, view, left)
    call("LTRIM", key, 0, cut.index)
    call("LSET", key, -1, packed(cut.at, (view.base + left) % WRAP, cut.till, cut.leads))
  end
  local newest = entryAt(key, -1)
  if call("LLEN", key) == 1 or newest.till * 1000 <= now then
    call("DEL", key)
  else
    expire(key, newest.till * 1000, view.expiresAt)
  end
end

-- The oldest units that count go: they leave no later than those of the debit, whose place in the log is not looked
-- for. Where another policy still looks back at older entries, nothing goes.
local function giveOldest(terms, view, key)
  local older = view.first - 1
  -- none matters for longer than those after it
  local olderMatter = older > 0 and entryAt(key, older).till * 1000 > now
  if view.till * 1000 <= now or (not olderMatter and terms.cost >= view.total) then
    call("DEL", key)
    return
  end
  if olderMatter then return end
  if older > 0 then
    call("LTRIM", key, older, -1)
    view.first = 1
  end
  local cut = reaching(key, view, terms.cost)
  local sum = (view.base + terms.cost) % WRAP
  call("LTRIM", key, cut.sum == sum and cut.index or cut.index - 1, -1)
  call("LSET", key, 0, packed(0, sum, 0))
end

-- Microseconds until enough entries have left for the cost to fit, and no turn is before it.
local function wait(terms, view, key)
  local turns = view.leads > 0 and max(view.last - now, 0) or 0
  local excess = view.total + terms.cost - terms.limit
  if terms.cost > terms.limit or excess <= 0 then return turns end
  return max(reaching(key, view, excess).at + terms.window - now, turns)
end

function log.step(terms, key, count, granted, spend, reply)
  local view = read(terms, key)
  granted = granted or room(terms, view, count)
  if not reply then return granted end

  if spend and view.jumped then mend(view, key) end
  if spend and granted > 0 then take(terms, view, granted, key) end

  reply[#reply + 1] = view.total
  reply[#reply + 1] = view.total > 0 and view.last + terms.window - now or 0
  if granted < count then reply[#reply + 1] = wait(terms, view, key) end
  return granted
end

function log.till(_, key)
  local newest = call("LINDEX", key, "-1")
  return newest and unpack(">I6", newest, 14) * 1000 or 0
end

function log.give(terms, key, debitedAt)
  if debitedAt >= 0 and debitedAt + terms.window <= now then return end
  local view = read(terms, key)
  if #view.head == 0 then return end
  if view.jumped then mend(view, key) end
  if debitedAt >= 0 then giveOldest(terms, view, key) else giveNewest(terms, view, key) end
end
