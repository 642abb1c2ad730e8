-- Answers plain asks, which nearly all are, before anything else is as much as defined: asks for one, alike, of keys that
-- differ, under policies that have room and nothing unusual about them. In plain is, by algorithm, a function of the
-- terms, the key and its value that says whether that is so, and spends if it is given a reply.
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
-- How many asks, and keys of theirs, are done with, and where the reply to the ask at hand begins.
local asks, used, told = 0, 0, 1
-- The values of all keys, read at once, if the first of them is a string.
local values

local function readValues()
  -- a lone key is read by a command that complains of what is no string
  if keys == 1 then
    values = { call("GET", KEYS[1]) }
    fresh = true
    return
  end
  values = call("MGET", spread(KEYS))
  local absent = {}
  for i = 1, keys do
    if not values[i] then absent[#absent + 1] = KEYS[i] end
  end
  fresh = #absent > 0 and call("EXISTS", spread(absent)) == 0
end

local function spendPlain()
  local plan = plans[1]
  local parts = #plan / 2 - 1
  local first, terms = plain[plan[3]], plan[4]
  if not values and plan[3] ~= "log" then readValues() end
  local known = values or {}
  while used < keys do
    told = #reply
    if parts > 1 then
      for part = 1, parts do
        local i = used + part
        if not plain[plan[part * 2 + 1]](plan[part * 2 + 2], KEYS[i], known[i]) then return end
      end
      for part = 1, parts do
        local i = used + part
        plain[plan[part * 2 + 1]](plan[part * 2 + 2], KEYS[i], known[i], reply)
      end
    elseif not first(terms, KEYS[used + 1], known[used + 1], reply) then
      return
    end
    asks, used = asks + 1, used + parts
  end
end

local alike = not numbers and plans[1][1] == "spend" and plans[1][2] == 1
if alike then
  -- what goes wrong here does so again below, where it is somebody's
  pcall(spendPlain)
  if used == keys then return reply end
  for extra = #reply, told + 1, -1 do reply[extra] = nil end
end
