-- Answers asks one after the other: evaluates every part of an ask, then commits all of them or none.
-- KEYS     for each ask, one key per part of its plan, in order
-- ARGV     [1] now (see clock.lua), [2…] the plans (see plans.lua), then the plan number of each ask
-- Returns  flat integers: for each ask how many were granted, then the level of each part
local plans, at = readPlans(2)
local reply = {}
local used = 0
for i = at, #ARGV do
  local plan = plans[tonumber(ARGV[i])]
  local granted = plan.count
  local views = {}
  for part = 1, #plan do
    local algorithm, terms = plan[part].algorithm, plan[part].terms
    views[part] = algorithm.read(terms, KEYS[used + part])
    granted = math.min(granted, algorithm.room(terms, views[part], granted))
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
  used = used + #plan
end
return reply
