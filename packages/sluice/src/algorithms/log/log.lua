-- Sliding log and sliding window; log.ts beside this file is its twin and says what the names mean.
-- State: a list of entries, each ">I7I6I6" at sum till, the base at index 0.
local log = { sent = { "limit", "window", "merge", "cost" } }
algorithms.log = log

local WRAP = 281474976710656
local PRUNE = 32
local BASE = struct.pack(">I7I6I6", 0, 0, 0)

local function entryAt(key, index)
  return struct.unpack(">I7I6I6", redis.call("LINDEX", key, index))
end

local function units(sum, base)
  return (sum - base + WRAP) % WRAP
end

-- The first entry between two whose value reaches a target, given that the one below does not and the one
-- above does: its index, time and sum. Guesses in proportion and halves in turn, for every probe is a
-- LINDEX, and the deeper in the list the dearer.
local function search(key, value, target, below, above)
  local guess = true
  while above.index - below.index > 1 do
    local share = guess and (target - below.value) / (above.value - below.value) or 0.5
    local index = below.index + math.floor(share * (above.index - below.index))
    index = math.max(below.index + 1, math.min(index, above.index - 1))
    local at, sum = entryAt(key, index)
    local probe = { index = index, value = value(at, sum), at = at, sum = sum }
    if probe.value >= target then above = probe else below = probe end
    guess = not guess
  end
  return above
end

function log.read(terms, key)
  local view = { first = 1, base = 0, total = 0, last = 0, sum = 0, till = 0 }
  local head = redis.call("LRANGE", key, 0, 2)
  if #head == 0 then return view end
  local last, sum, till = entryAt(key, -1)
  local reach = till * 1000 - last
  -- further ahead than a window reaches: the clock went back; what counted then counts as spent now
  view.jumped = last - now > reach
  local asOf = view.jumped and last or now
  local since = asOf - terms.window + 1
  view.head, view.last, view.sum, view.till = head, last, sum, till
  local _
  _, view.base = struct.unpack(">I7I6I6", head[1])
  view.firstAt, view.firstSum = struct.unpack(">I7I6I6", head[2])
  -- most often no more than one entry has left since the last grant
  if view.firstAt < since and head[3] then
    local at, sumThere = struct.unpack(">I7I6I6", head[3])
    if at >= since then
      view.base = view.firstSum
      view.first, view.firstAt, view.firstSum = 2, at, sumThere
    end
  end
  if view.firstAt < since then
    local size = redis.call("LLEN", key)
    if last >= since then
      local first = search(key, function(at) return at end, since,
        { index = 1, value = view.firstAt },
        { index = size - 1, value = last, at = last, sum = sum })
      view.first, view.firstAt, view.firstSum = first.index, first.at, first.sum
    else
      view.first = size
    end
    _, view.base = entryAt(key, view.first - 1)
  end
  view.total = units(sum, view.base)
  if view.jumped then
    view.last, view.sum, view.till = now, view.total, math.ceil((now + reach) / 1000)
    view.first, view.base, view.firstAt, view.firstSum = 1, 0, now, view.total
  end
  return view
end

function log.room(terms, view, count)
  local room = math.floor((terms.limit - view.total) / terms.cost)
  return math.min(count, math.max(room, 0))
end

-- Clears away entries that count neither here nor under the policy they were granted under.
local function prune(key, view)
  local most = math.min(view.first - 1, PRUNE)
  if most == 0 then return end
  local old = most < #view.head and view.head or redis.call("LRANGE", key, 0, most)
  local gone = 0
  while gone < most do
    local _, _, till = struct.unpack(">I7I6I6", old[gone + 2])
    if till * 1000 > now then break end
    gone = gone + 1
  end
  if gone > 0 then redis.call("LPOP", key, gone) end
end

function log.take(terms, view, granted, key)
  log.mend(terms, view, key)
  -- never before the newest entry, or a clock that went back would unsort the log
  local at = math.max(now, view.last)
  local sum = (view.sum + granted * terms.cost) % WRAP
  local till = math.max(math.ceil((at + terms.window) / 1000), view.till)
  local sameSubWindow = math.floor(view.last / terms.merge) == math.floor(at / terms.merge)
  local entry = struct.pack(">I7I6I6", at, sum, till)
  if not view.head then
    redis.call("RPUSH", key, BASE, entry)
  elseif view.total > 0 and sameSubWindow then
    redis.call("LSET", key, -1, entry)
  else
    redis.call("RPUSH", key, entry)
  end
  if view.head then prune(key, view) end
  redis.call("PEXPIRE", key, ttl(till * 1000))
  view.total = view.total + granted * terms.cost
  view.last = at
end

-- The first entry with which at least this many of the units that count have been spent.
local function reaching(key, view, amount)
  local function spent(_, sum) return units(sum, view.base) end
  local first = { index = view.first, value = spent(nil, view.firstSum), at = view.firstAt }
  if first.value >= amount then return first end
  local size = redis.call("LLEN", key)
  return search(key, spent, amount, first, { index = size - 1, value = view.total, at = view.last })
end

function log.give(terms, view, key)
  if not view.head then return end
  log.mend(terms, view, key)
  local left = view.total - terms.cost
  if left <= 0 then
    redis.call("LTRIM", key, 0, view.first - 1)
    if view.first == 1 then redis.call("DEL", key) end
    return
  end
  -- the newest units go: cut the log after the entry that reaches what is left
  local cut = reaching(key, view, left)
  redis.call("LTRIM", key, 0, cut.index)
  redis.call("LSET", key, cut.index, struct.pack(">I7I6I6", cut.at, (view.base + left) % WRAP, view.till))
end

function log.mend(_, view, key)
  if not view.jumped then return end
  redis.call("DEL", key)
  redis.call("RPUSH", key, BASE, struct.pack(">I7I6I6", view.last, view.sum, view.till))
  redis.call("PEXPIRE", key, ttl(view.till * 1000))
  view.head = { BASE }
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
