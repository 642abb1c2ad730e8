-- Answers the asks that are left one after the other: evaluates every part of an ask, then commits all of them or none.
-- For what is in KEYS and ARGV, and what is returned, see plain.lua.
local function spendOrPeek(plan, parts)
  local spend = plan[1] == "spend"
  local count = plan[2]
  local first = #reply + 1
  local granted
  if parts == 1 then
    granted = algorithms[plan[3]].step(plan[4], placeOf(1), count, nil, spend, reply)
  else
    granted = count
    for part = 1, parts do
      granted = algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), granted, nil, false)
    end
    for part = 1, parts do
      algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), count, granted, spend, reply)
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
    algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), 1, nil, false)
  end
  for part = 1, parts do
    if plan[2] < 0 or plan[2] > forgottenAt(part) then
      algorithms[plan[part * 2 + 1]].give(plan[part * 2 + 2], placeOf(part), plan[2])
    end
  end
  reply[#reply + 1] = 0
end

-- Notes when, for as long as what was spent would have counted: a debit from before must not be given back after.
local function forget(plan, parts)
  local moments = {}
  for part = 1, parts do
    local place = placeOf(part)
    -- what cannot be read is forgotten all the same, and nobody has a claim on it
    local isRead, till = pcall(algorithms[plan[part * 2 + 1]].till, plan[part * 2 + 2], place)
    if isRead and till > now then
      local at, key, before = forgottenAt(part)
      moments[key] = moments[key] or max(now, at + 1)
      till = max(till, before)
      set(key, pack(">I7I7", moments[key], till), till, before)
    end
    if not pcall(drop, place) then drop(place.record or place) end
  end
  reply[#reply + 1] = 0
end

local function answerTheRest()
  while used < keys do
    local plan = plans[numbers and numbers[asks + 1] or 1]
    local parts = #plan / 2 - 1
    told, atHand = #reply, plan
    if plan[1] == "give" then
      giveBack(plan, parts)
    elseif plan[1] == "forget" then
      forget(plan, parts)
    elseif modes[plan[1]] then
      modes[plan[1]].answer(plan, parts, used, reply)
    else
      spendOrPeek(plan, parts)
    end
    writeChanged()
    asks = asks + 1
    used = used + keysOf(plan)
    if used < keys then answerPlain() end
  end
end

-- what is no string is left for get to complain of
if not values and keys > 1 and plans[1][3] and plans[1][3] ~= "log" then values = call("MGET", spread(KEYS)) end
for i = used + 1, values and keys or 0 do
  if strings[KEYS[i]] == nil then strings[KEYS[i]] = values[i] end
end

while used < keys do
  local done, wrong = pcall(answerTheRest)
  if not done then
    now, lead = reply[1], 0
    takeBackReply()
    records, changed = {}, {}
    reply[told + 1] = { type(wrong) == "table" and wrong.err or wrong }
    asks = asks + 1
    used = used + keysOf(plans[numbers and numbers[asks] or 1])
  end
end
return reply
