-- Gives the cost of each part back, as far as it is spent.
-- KEYS     one per part of the only plan, in order
-- ARGV     [1] now (see clock.lua), [2…] one plan (see plans.lua)
-- Returns  0
local plan = readPlans(2)[1]
for part = 1, #plan do
  local algorithm, terms = plan[part].algorithm, plan[part].terms
  algorithm.give(terms, algorithm.read(terms, KEYS[part]), KEYS[part])
end
return 0
