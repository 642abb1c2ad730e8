-- Answers asks one after the other: evaluates every part of an ask, then commits all of them or none.
-- KEYS     for each ask, one key per part of its plan, in order, and one more for some modes
-- ARGV     [1] now (see clock.lua)
--          [2] the plans, as JSON: each [mode, count, algorithm, terms, algorithm, terms, …], an algorithm and its
--          terms for each part; the mode is spend, peek, give, forget or one of those in modes.lua; a give has the
--          moment of the debit in place of the count, -1 for none
--          [3] the plan number of each ask, as JSON, if there are several plans or a key comes twice
-- Returns  now, then for each ask the integers of the levels of its parts; if fewer than count were granted, the first
--          of them is -1 - itself and the number granted comes last, unless the count is 1. 0 for a give or forget.
--          For an ask that failed, what was wrong, in an array, while the others go on.
local plans = cjson.decode(ARGV[2])
local numbers = ARGV[3] and cjson.decode(ARGV[3])
local keys = #KEYS
local reply = { now }
-- How many asks, and keys of theirs, are done with.
local asks, used = 0, 0

-- Where the reply to the ask at hand begins.
local told = 1

-- The values of all keys, read at once; what is no string is left for get to complain of.
local values = {}
if plans[1][3] and algorithms[plans[1][3]].inString then
  values = call("MGET", spread(KEYS))
  if numbers then
    for i = 1, keys do strings[KEYS[i]] = values[i] end
  end
end

-- Whether every ask is for one, alike, of keys that differ: then nearly all of them are plain.
local alike = not numbers and plans[1][1] == "spend" and plans[1][2] == 1
if alike then
  local absent = {}
  for part = 3, #plans[1], 2 do alike = alike and algorithms[plans[1][part]].plain end
  for i = 1, alike and #values or 0 do
    if not values[i] then absent[#absent + 1] = KEYS[i] end
  end
  fresh = #absent > 0 and call("EXISTS", spread(absent)) == 0
end

-- Answers asks while all of their parts are plain.
local function spendPlain(plan, parts)
  local plain, terms = algorithms[plan[3]].plain, plan[4]
  while used < keys do
    told = #reply
    if parts > 1 then
      for part = 1, parts do
        local i = used + part
        if not algorithms[plan[part * 2 + 1]].plain(plan[part * 2 + 2], KEYS[i], values[i]) then return end
      end
      for part = 1, parts do
        local i = used + part
        algorithms[plan[part * 2 + 1]].plain(plan[part * 2 + 2], KEYS[i], values[i], reply)
      end
    elseif not plain(terms, KEYS[used + 1], values[used + 1], reply) then
      return
    end
    asks, used = asks + 1, used + parts
  end
end

local function spendOrPeek(plan, parts)
  local spend = plan[1] == "spend"
  local count = plan[2]
  local first = #reply + 1
  local granted
  if parts == 1 then
    granted = algorithms[plan[3]].step(plan[4], KEYS[used + 1], count, nil, spend, reply)
  else
    granted = count
    for part = 1, parts do
      granted = algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], KEYS[used + part], granted, nil, false)
    end
    for part = 1, parts do
      algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], KEYS[used + part], count, granted, spend, reply)
    end
  end
  if granted < count then
    reply[first] = -1 - reply[first]
    if count > 1 then reply[#reply + 1] = granted end
  end
end

local function giveBack(plan, parts)
  -- one that cannot be read fails all before any has changed
  for part = 1, parts do
    algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], KEYS[used + part], 1, nil, false)
  end
  for part = 1, parts do
    algorithms[plan[part * 2 + 1]].give(plan[part * 2 + 2], KEYS[used + part], plan[2])
  end
  reply[#reply + 1] = 0
end

local function forget(parts)
  for part = 1, parts do drop(KEYS[used + part]) end
  reply[#reply + 1] = 0
end

-- How many keys an ask by a plan has.
local function keysOf(plan) return #plan / 2 - 1 + (modes[plan[1]] and modes[plan[1]].keys or 0) end

local function answerTheRest()
  while used < keys do
    local plan = plans[numbers and numbers[asks + 1] or 1]
    local parts = #plan / 2 - 1
    if alike then spendPlain(plan, parts) end
    if used == keys then return end
    if not numbers then
      for i = used + 1, used + parts do strings[KEYS[i]] = values[i] end
    end
    told = #reply
    if plan[1] == "give" then
      giveBack(plan, parts)
    elseif plan[1] == "forget" then
      forget(parts)
    elseif modes[plan[1]] then
      modes[plan[1]].answer(plan, parts, used, reply)
    else
      spendOrPeek(plan, parts)
    end
    asks = asks + 1
    used = used + keysOf(plan)
  end
end

while used < keys do
  local done, wrong = pcall(answerTheRest)
  if not done then
    now, lead = reply[1], 0
    for extra = #reply, told + 1, -1 do reply[extra] = nil end
    reply[told + 1] = { type(wrong) == "table" and wrong.err or wrong }
    asks = asks + 1
    used = used + keysOf(plans[numbers and numbers[asks] or 1])
  end
end
return reply
