-- Sliding log and sliding window; log.ts beside this file is its twin and says what the names mean.
-- State: a list of entries, each ">I7I6I6" at sum till, the base at index 0.
local log = { arity = 4 }
algorithms.log = log

function log.terms(at)
  return {
    limit = ARGV[at] + 0,
    window = ARGV[at + 1] + 0,
    merge = ARGV[at + 2] + 0,
    cost = ARGV[at + 3] + 0,
  }
end

local WRAP = 281474976710656
local PRUNE = 32
local function packed(at, sum, till) return pack(">I7I6I6", at, sum, till) end
local BASE = packed(0, 0, 0)

local function entry(index, value)
  local at, sum, till = unpack(">I7I6I6", value)
  return { index = index, at = at, sum = sum, till = till }
end

local function entryAt(key, index) return entry(index, call("LINDEX", key, index)) end

local function units(sum, base) return (sum - base + WRAP) % WRAP end

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

-- The entry before the first whose value reaches a target, and that first, if there is one. Most often no more
-- than one entry has left since the last grant.
local function around(key, head, newest, value, target)
  local base, first, second = entry(0, head[1]), entry(1, head[2]), head[3] and entry(2, head[3])
  if value(first) >= target then return base, first end
  if second and value(second) >= target then return first, second end
  newest.index = call("LLEN", key) - 1
  if value(newest) < target then return newest, nil end
  local found = search(key, value, target, second or first, newest)
  return entryAt(key, found.index - 1), found
end

function log.read(terms, key)
  local head = call("LRANGE", key, 0, 2)
  if #head == 0 then return { first = 1, base = 0, total = 0, last = 0, sum = 0, till = 0 } end
  local newest = entryAt(key, -1)
  local last, sum, till = newest.at, newest.sum, newest.till
  local reach = till * 1000 - last
  -- further ahead than a window reaches: the clock went back; what counted then counts as spent now
  local jumped = last - now > max(reach, GRACE)
  local before, first
  if jumped then
    before = around(key, head, newest, function(each) return each.till end, floor(last / 1000) + 1)
  else
    before, first = around(key, head, newest, function(each) return each.at end, now - terms.window + 1)
  end
  local base = before.sum
  local total = units(sum, base)
  if not jumped then
    return {
      head = head, first = before.index + 1, firstEntry = first, base = base, total = total,
      last = last, sum = sum, till = till,
    }
  end
  till = ceil((now + reach) / 1000)
  return {
    head = head, first = 1, firstEntry = { index = 1, at = now, sum = total, till = till }, base = 0, total = total,
    last = now, sum = total, till = till, jumped = true,
  }
end

function log.room(terms, view, count)
  local room = floor((terms.limit - view.total) / terms.cost)
  return min(count, max(room, 0))
end

-- Clears away entries that count neither here nor under the policy they were granted under.
local function prune(key, view)
  local most = min(view.first - 1, PRUNE)
  if most == 0 then return end
  local old = most < #view.head and view.head or call("LRANGE", key, 0, most)
  local gone = 0
  while gone < most and entry(nil, old[gone + 2]).till * 1000 <= now do gone = gone + 1 end
  if gone > 0 then call("LPOP", key, gone) end
end

function log.take(terms, view, granted, key)
  log.mend(terms, view, key)
  -- never before the newest entry, or a clock that went back would unsort the log
  local at = max(now, view.last)
  local sum = (view.sum + granted * terms.cost) % WRAP
  local till = max(ceil((at + terms.window) / 1000), view.till)
  -- an entry of a shorter window stays as it is: its units must not be held for longer
  local ownWindow = view.till >= ceil((view.last + terms.window) / 1000)
  local sameSubWindow = floor(view.last / terms.merge) == floor(at / terms.merge)
  if not view.head then
    call("RPUSH", key, BASE, packed(at, sum, till))
  elseif view.total > 0 and ownWindow and sameSubWindow then
    call("LSET", key, -1, packed(at, sum, till))
  else
    call("RPUSH", key, packed(at, sum, till))
  end
  if view.head then prune(key, view) end
  call("PEXPIRE", key, ttl(till * 1000))
  view.total = view.total + granted * terms.cost
  view.last = at
end

-- The first entry with which at least this many of the units that count have been spent.
local function reaching(key, view, amount)
  local function spent(each) return units(each.sum, view.base) end
  if spent(view.firstEntry) >= amount then return view.firstEntry end
  local size = call("LLEN", key)
  local newest = { index = size - 1, at = view.last, sum = view.sum, till = view.till }
  return search(key, spent, amount, view.firstEntry, newest)
end

function log.give(terms, view, key)
  if not view.head then return end
  log.mend(terms, view, key)
  local left = view.total - terms.cost
  if left <= 0 then
    call("LTRIM", key, 0, view.first - 1)
  else
    -- the newest units go: cut the log after the entry that reaches what is left
    local cut = reaching(key, view, left)
    call("LTRIM", key, 0, cut.index)
    call("LSET", key, -1, packed(cut.at, (view.base + left) % WRAP, cut.till))
  end
  local newest = entryAt(key, -1)
  if call("LLEN", key) == 1 or newest.till * 1000 <= now then
    call("DEL", key)
  else
    call("PEXPIRE", key, ttl(newest.till * 1000))
  end
end

function log.mend(_, view, key)
  if not view.jumped then return end
  call("DEL", key)
  call("RPUSH", key, BASE, packed(view.last, view.sum, view.till))
  call("PEXPIRE", key, ttl(view.till * 1000))
end

-- Microseconds until enough entries have left for the cost to fit.
local function wait(terms, view, key)
  local excess = view.total + terms.cost - terms.limit
  if terms.cost > terms.limit or excess <= 0 then return 0 end
  return reaching(key, view, excess).at + terms.window - now
end

function log.tell(terms, view, granted, reply, key)
  reply[#reply + 1] = view.total
  reply[#reply + 1] = granted and 0 or wait(terms, view, key)
  reply[#reply + 1] = view.total > 0 and view.last + terms.window - now or 0
end
