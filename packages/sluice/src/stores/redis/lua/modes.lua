-- The modes of asks that look further than this moment: turns, debt, and debits that are settled later. For the keys
-- of the parts and of the plan see plain.lua; the key behind them is where an ask notes something of its own.
-- book     [maxWait, the cost of each part] in place of the count; notes turns that were given back. Levels as they will
--          be at the turn, how long until then, and its marks: when it was booked, and the line of each part, first with
--          the turn, then before it; refused, the levels of a denial, and how long it would have been, -1 for no turn at
--          all.
-- leave    [turn, the cost of each part, its marks…] in place of the count; the note as in book. 0.
-- charge   maxWait in place of the count; no note. Levels of a denial; the first is -1 - itself if not all of it fit.
-- reserve  for how long it can be settled in place of the count; notes the debit. As for a spend.
-- settle   [maxWait, for each part 1 to charge or 0 to give back] in place of the count; the note as in reserve.
--          1, or 0 if there was no such note.

-- How many turns that were given back are remembered.
local MOST_TURNS = 1024

local function algorithmOf(plan, part) return algorithms[plan[part * 2 + 1]], plan[part * 2 + 2] end

-- Numbers as they are noted: of a turn, when it is, what it costs under each part, and its marks.
local function noted(numbers)
  local value = ""
  for i = 1, #numbers do value = value .. pack(">i7", numbers[i]) end
  return value
end

-- The lines of all parts, one after the other.
local function linesOf(plan, parts, used)
  local lines = {}
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    for _, number in ipairs(algorithm.line(terms, placeOf(part))) do lines[#lines + 1] = number end
  end
  return lines
end

-- How many bytes the lines of all parts take, and a turn.
local function widthsOf(plan, parts)
  local numbers = 0
  for part = 1, parts do numbers = numbers + algorithmOf(plan, part).lineWidth end
  return 7 * numbers, 7 * (1 + parts + 1 + 2 * numbers)
end

-- When any part was forgotten last.
local function lastForgotten(parts)
  local last = -1
  for part = 1, parts do last = max(last, (forgottenAt(part))) end
  return last
end

local function turnAt(turns, index, width) return (unpack(">i7", turns, (index - 1) * width + 1)) end

local function keepTurns(key, turns, width, before)
  if turns == "" then return drop(key) end
  set(key, turns, turnAt(turns, #turns / width, width), before)
end

-- The turns noted under a key that are still to come, soonest first, and until when the note was kept. Those that were
-- booked no later than some moment are taken out of it.
local function comingTurns(key, width, parts, forgotten)
  local turns = get(key) or ""
  local count = #turns / width
  local before = count > 0 and turnAt(turns, count, width) or 0
  local past = 0
  while past < count and turnAt(turns, past + 1, width) <= now do past = past + 1 end
  local coming = sub(turns, past * width + 1)
  if forgotten < 0 then return coming, before end
  local left = {}
  for from = 1, #coming, width do
    local booked = unpack(">i7", coming, from + 7 * (1 + parts))
    if booked > forgotten then left[#left + 1] = sub(coming, from, from + width - 1) end
  end
  if #left * width < #coming then
    coming = table.concat(left)
    keepTurns(key, coming, width, before)
  end
  return coming, before
end

-- Without the turn at an index.
local function without(turns, index, width)
  return sub(turns, 1, (index - 1) * width) .. sub(turns, index * width + 1)
end

-- The first turn of the costs of an ask.
local function sameCosts(turns, width, plan, parts)
  local costs = sub(noted(plan[2]), 8, 7 * (parts + 1))
  for index = 1, #turns / width do
    local from = (index - 1) * width + 8
    if sub(turns, from, from + 7 * parts - 1) == costs then return index end
  end
end

local function book(plan, parts, used, reply)
  local maxWait, wait = plan[2][1], 0
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    wait = max(wait, algorithm.turn(terms, placeOf(part)))
  end
  local note = KEYS[used + keysOf(plan)]
  local lineWidth, width = widthsOf(plan, parts)
  local turns, before, since = "", 0, now
  if wait > 0 then
    local last = lastForgotten(parts)
    turns, before = comingTurns(note, width, parts, last)
    since = max(now, last + 1)
  end
  local first = #reply + 1
  local soonest = turns ~= "" and sameCosts(turns, width, plan, parts)
  local sooner = soonest and turnAt(turns, soonest, width) - now or huge
  if sooner < wait and sooner <= maxWait then
    -- somebody has given up a turn before the end of the line
    now = now + sooner
    for part = 1, parts do
      local algorithm, terms = algorithmOf(plan, part)
      algorithm.step(terms, placeOf(part), 1, 1, false, reply)
    end
    now = now - sooner
    reply[#reply + 1] = sooner
    local marks = soonest * width - 2 * lineWidth - 7
    for at = marks + 1, soonest * width, 7 do reply[#reply + 1] = (unpack(">i7", turns, at)) end
    keepTurns(note, without(turns, soonest, width), width, before)
  elseif wait <= maxWait then
    local standing = linesOf(plan, parts, used)
    now, lead = now + wait, wait
    for part = 1, parts do
      local algorithm, terms = algorithmOf(plan, part)
      algorithm.step(terms, placeOf(part), 1, 1, true, reply)
    end
    now, lead = now - wait, 0
    reply[#reply + 1] = wait
    reply[#reply + 1] = since
    for _, number in ipairs(linesOf(plan, parts, used)) do reply[#reply + 1] = number end
    for _, number in ipairs(standing) do reply[#reply + 1] = number end
  else
    for part = 1, parts do
      local algorithm, terms = algorithmOf(plan, part)
      algorithm.step(terms, placeOf(part), 1, 0, false, reply)
    end
    reply[first] = -1 - reply[first]
    reply[#reply + 1] = min(sooner, wait) < huge and min(sooner, wait) or -1
  end
end
modes.book = { keys = 1, answer = book }

-- The last of the turns with which the line stands as it does.
local function lastInLine(turns, lineWidth, width, plan, parts, used)
  local lines = noted(linesOf(plan, parts, used))
  for index = #turns / width, 1, -1 do
    local from = index * width - 2 * lineWidth + 1
    if sub(turns, from, from + lineWidth - 1) == lines then return index end
  end
end

-- Puts the line of each part back to where it was before a turn.
local function restore(turns, index, lineWidth, width, plan, parts, used)
  local at = index * width - lineWidth + 1
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    local line = {}
    for i = 1, algorithm.lineWidth do
      line[i] = unpack(">i7", turns, at)
      at = at + 7
    end
    algorithm.restore(terms, placeOf(part), line)
  end
end

local function leave(plan, parts, used, reply)
  local turn, booked = plan[2][1], plan[2][parts + 2]
  local last = lastForgotten(parts)
  if turn <= now then
    for part = 1, parts do
      local algorithm, terms = algorithmOf(plan, part)
      if booked > forgottenAt(part) then algorithm.give(terms, placeOf(part), turn) end
    end
  elseif booked > last then
    local note = KEYS[used + keysOf(plan)]
    local lineWidth, width = widthsOf(plan, parts)
    local turns, before = comingTurns(note, width, parts, last)
    local behind = #turns / width
    while behind > 0 and turnAt(turns, behind, width) > turn do behind = behind - 1 end
    turns = sub(turns, 1, behind * width) .. noted(plan[2]) .. sub(turns, behind * width + 1)
    -- the line goes back by its last turn, and further if the turn before that was given back already
    local last = lastInLine(turns, lineWidth, width, plan, parts, used)
    while last do
      restore(turns, last, lineWidth, width, plan, parts, used)
      turns = without(turns, last, width)
      last = lastInLine(turns, lineWidth, width, plan, parts, used)
    end
    if #turns > MOST_TURNS * width then turns = sub(turns, width + 1) end
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
    algorithm.step(terms, placeOf(part), 1, nil, false)
  end
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    fits = min(fits, algorithm.charge(terms, placeOf(part), plan[2], reply))
  end
  if fits == 0 then reply[first] = -1 - reply[first] end
end
modes.charge = { keys = 0, answer = charge }

local function reserve(plan, parts, used, reply)
  local first = #reply + 1
  local granted = 1
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    granted = algorithm.step(terms, placeOf(part), granted, nil, false)
  end
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    algorithm.step(terms, placeOf(part), 1, granted, true, reply)
  end
  if granted == 0 then
    reply[first] = -1 - reply[first]
    return
  end
  local till = now + plan[2]
  local debitedAt = max(now, lastForgotten(parts) + 1)
  set(KEYS[used + keysOf(plan)], pack(">I7I7", debitedAt, till), till, 0)
end
modes.reserve = { keys = 1, answer = reserve }

local function settle(plan, parts, used, reply)
  local note = KEYS[used + keysOf(plan)]
  local value = get(note)
  local debitedAt, till = 0, 0
  if value then debitedAt, till = unpack(">I7I7", value) end
  if till <= now then
    reply[#reply + 1] = 0
    return
  end
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    algorithm.step(terms, placeOf(part), 1, nil, false)
  end
  drop(note)
  for part = 1, parts do
    local algorithm, terms = algorithmOf(plan, part)
    if plan[2][part + 1] == 1 then
      algorithm.charge(terms, placeOf(part), plan[2][1], {})
    elseif debitedAt > forgottenAt(part) then
      algorithm.give(terms, placeOf(part), debitedAt)
    end
  end
  reply[#reply + 1] = 1
end
modes.settle = { keys = 1, answer = settle }
