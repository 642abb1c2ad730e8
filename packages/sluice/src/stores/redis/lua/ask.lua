-- Answers asks one after the other: evaluates every part of an ask, then commits all of them or none.
-- KEYS     for each ask, one key per part of its plan, in order
-- ARGV     [1] now (see clock.lua), [2] the number of plans, then the plans, then the plan number of each ask if
--          there are several plans
--          a plan is the number of its parts, its count and its mode (spend, peek, give or forget), then for each
--          part the name of an algorithm and its terms
-- Returns  flat integers: for each ask how many were granted, and the level of each part if it spends or peeks; for one
--          that failed, -1 and what was wrong, while the others go on
local at = 3
local function readPlan()
  local parts = ARGV[at] + 0
  local plan = { count = ARGV[at + 1] + 0, mode = ARGV[at + 2] }
  at = at + 3
  for part = 1, parts do
    local algorithm = algorithms[ARGV[at]]
    plan[part] = { algorithm = algorithm, terms = algorithm.terms(at + 1) }
    at = at + 1 + algorithm.arity
  end
  return plan
end

local plans = {}
for number = 1, ARGV[2] + 0 do plans[number] = readPlan() end
if #KEYS > 1 and plans[1][1].algorithm.inString then prefetch(KEYS) end

local function readParts(plan, used)
  local views = {}
  for part = 1, #plan do views[part] = plan[part].algorithm.read(plan[part].terms, KEYS[used + part]) end
  return views
end

local reply = {}
local function spendOrPeek(plan, used)
  local views = readParts(plan, used)
  local granted = plan.count
  for part = 1, #plan do
    granted = min(granted, plan[part].algorithm.room(plan[part].terms, views[part], granted))
  end
  reply[#reply + 1] = granted
  for part = 1, #plan do
    local algorithm, terms, view = plan[part].algorithm, plan[part].terms, views[part]
    local key = KEYS[used + part]
    if plan.mode == "spend" then
      if granted > 0 then algorithm.take(terms, view, granted, key) else algorithm.mend(terms, view, key) end
    end
    algorithm.tell(terms, view, granted > 0, reply, key)
  end
end

local function giveBack(plan, used)
  local views = readParts(plan, used)
  reply[#reply + 1] = 0
  for part = 1, #plan do plan[part].algorithm.give(plan[part].terms, views[part], KEYS[used + part]) end
end

local function forget(plan, used)
  for part = 1, #plan do del(KEYS[used + part]) end
  reply[#reply + 1] = 0
end

local modes = { spend = spendOrPeek, peek = spendOrPeek, give = giveBack, forget = forget }
local used = 0
while used < #KEYS do
  local plan = plans[1]
  if #plans > 1 then
    plan = plans[ARGV[at] + 0]
    at = at + 1
  end
  local told = #reply
  local done, wrong = pcall(modes[plan.mode], plan, used)
  if not done then
    for extra = #reply, told + 1, -1 do reply[extra] = nil end
    reply[told + 1] = -1
    reply[told + 2] = type(wrong) == "table" and wrong.err or wrong
  end
  used = used + #plan
end
return reply
