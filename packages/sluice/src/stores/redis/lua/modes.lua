-- The modes of asks that look further than this moment: turns, debt, and debits that are settled later. For the keys
-- of the parts and of the plan see ask.lua; the key behind them is where an ask notes something of its own.
-- book     maxWait in place of the count; notes turns that were given back. Levels as they will be at the turn, how
--          long until then, and the mark of each part; refused, the levels of a denial, and how long it would have
--          been, -1 for no turn at all.
-- leave    [turn, marks…] in place of the count; the note as in book. 0.
-- charge   maxWait in place of the count; no note. Levels of a denial; the first is -1 - itself if not all of it fit.
-- reserve  for how long it can be settled in place of the count; notes the debit. As for a spend.
-- settle   [maxWait, for each part 1 to charge or 0 to give back] in place of the count; the note as in reserve.
--          1, or 0 if there was no such note.

-- How many turns that were given back are remembered.
local MOST_TURNS = 1024

local function algorithmOf(plan, part) return algorithms[plan[part * 2 + 1]], plan[part * 2 + 2] end

-- A turn as it is noted: when it is, and where the line of each part ended with it.
local function noted(turn, marks)
  local value = pack(">I7", turn)
  for part = 1, #marks do value = value .. pack(">I7", marks[part]) end
  return value
end

local function turnAt(turns, index, width) return (unpack(">I7", turns, (index - 1) * width + 1)) end

-- The turns noted under a key that are still to come, soonest first, and until when the note was kept.
local function comingTurns(key, width)
  local turns = get(key) or ""
  local count = #turns / width
  local past = 0
  while past < count and turnAt(turns, past + 1, width) <= now do past = past + 1 end
  return sub(turns, past * width + 1), count > 0 and turnAt(turns, count, width) or 0
end

local function keepTurns(key, turns, width, before)
  if turns == "" then return drop(key) end
  set(key, turns, turnAt(turns, #turns / width, width), before)
end

local function book(plan, parts, used, reply)
  local maxWait, wait = plan[2], 0
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    wait = max(wait, algorithm.turn(terms, KEYS[used + part]))
  end
  local note, width = KEYS[used + parts + 1], 7 * (parts + 1)
  local turns, before = "", 0
  if wait > 0 then turns, before = comingTurns(note, width) end
  local first = #reply + 1
  local sooner = turns ~= "" and turnAt(turns, 1, width) - now
  if sooner and sooner < wait and sooner <= maxWait then
    -- somebody has given up a turn before the end of the line
    now = now + sooner
    for part = 1, parts do
      local algorithm, terms = algorithmOf(plan, part)
      algorithm.step(terms, KEYS[used + part], 1, 1, false, reply)
    end
    now = now - sooner
    reply[#reply + 1] = sooner
    for part = 1, parts do reply[#reply + 1] = (unpack(">I7", turns, part * 7 + 1)) end
    keepTurns(note, sub(turns, width + 1), width, before)
  elseif wait <= maxWait then
    now, lead = now + wait, wait
    for part = 1, parts do
      local algorithm, terms = algorithmOf(plan, part)
      algorithm.step(terms, KEYS[used + part], 1, 1, true, reply)
    end
    now, lead = now - wait, 0
    reply[#reply + 1] = wait
    for part = 1, parts do
      local algorithm, terms = algorithmOf(plan, part)
      reply[#reply + 1] = algorithm.mark(terms, KEYS[used + part])
    end
  else
    for part = 1, parts do
      local algorithm, terms = algorithmOf(plan, part)
      algorithm.step(terms, KEYS[used + part], 1, 0, false, reply)
    end
    reply[first] = -1 - reply[first]
    reply[#reply + 1] = min(sooner or huge, wait) < huge and min(sooner or huge, wait) or -1
  end
end
modes.book = { keys = 1, answer = book }

local function isLast(plan, parts, used, marks)
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    if algorithm.mark(terms, KEYS[used + part]) ~= marks[part] then return false end
  end
  return true
end

local function give(plan, parts, used, debitedAt)
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    algorithm.give(terms, KEYS[used + part], debitedAt)
  end
end

local function leave(plan, parts, used, reply)
  local turn, marks = plan[2][1], {}
  for part = 1, parts do marks[part] = plan[2][part + 1] end
  if turn <= now then
    give(plan, parts, used, turn)
  else
    local note, width = KEYS[used + parts + 1], 7 * (parts + 1)
    local turns, before = comingTurns(note, width)
    if isLast(plan, parts, used, marks) then
      -- the line ends where it did before, and further forward if the turn before that was given back already
      give(plan, parts, used, -1)
      while turns ~= "" do
        for part = 1, parts do marks[part] = unpack(">I7", turns, #turns - width + part * 7 + 1) end
        if not isLast(plan, parts, used, marks) then break end
        give(plan, parts, used, -1)
        turns = sub(turns, 1, -width - 1)
      end
    else
      local behind = #turns / width
      while behind > 0 and turnAt(turns, behind, width) > turn do behind = behind - 1 end
      turns = sub(turns, 1, behind * width) .. noted(turn, marks) .. sub(turns, behind * width + 1)
      if #turns > MOST_TURNS * width then turns = sub(turns, width + 1) end
    end
    if turns ~= "" or before > 0 then keepTurns(note, turns, width, before) end
  end
  reply[#reply + 1] = 0
end
modes.leave = { keys = 1, answer = leave }

local function charge(plan, parts, used, reply)
  local first = #reply + 1
  local fits = 1
  -- one that cannot be read fails all before any has changed
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    algorithm.step(terms, KEYS[used + part], 1, nil, false)
  end
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    fits = min(fits, algorithm.charge(terms, KEYS[used + part], plan[2], reply))
  end
  if fits == 0 then reply[first] = -1 - reply[first] end
end
modes.charge = { keys = 0, answer = charge }

local function reserve(plan, parts, used, reply)
  local first = #reply + 1
  local granted = 1
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    granted = algorithm.step(terms, KEYS[used + part], granted, nil, false)
  end
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    algorithm.step(terms, KEYS[used + part], 1, granted, true, reply)
  end
  if granted == 0 then
    reply[first] = -1 - reply[first]
    return
  end
  local till = now + plan[2]
  set(KEYS[used + parts + 1], pack(">I7I7", now, till), till, 0)
end
modes.reserve = { keys = 1, answer = reserve }

local function settle(plan, parts, used, reply)
  local note = KEYS[used + parts + 1]
  local value = get(note)
  local debitedAt, till = 0, 0
  if value then debitedAt, till = unpack(">I7I7", value) end
  if till <= now then
    reply[#reply + 1] = 0
    return
  end
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    algorithm.step(terms, KEYS[used + part], 1, nil, false)
  end
  drop(note)
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    if plan[2][part + 1] == 1 then
      algorithm.charge(terms, KEYS[used + part], plan[2][1], {})
    else
      algorithm.give(terms, KEYS[used + part], debitedAt)
    end
  end
  reply[#reply + 1] = 1
end
modes.settle = { keys = 1, answer = settle }
