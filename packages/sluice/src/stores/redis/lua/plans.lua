-- Reads the plans that ARGV carries from index `at` on: a plan is the number of its parts, its count and
-- its mode, then for each part the name of an algorithm and its terms.
-- Returns the plans and the index after them.
local function readPlans(at)
  local plans = {}
  local total = tonumber(ARGV[at])
  at = at + 1
  for number = 1, total do
    local plan = { count = tonumber(ARGV[at + 1]), mode = ARGV[at + 2] }
    local parts = tonumber(ARGV[at])
    at = at + 3
    for part = 1, parts do
      local algorithm = algorithms[ARGV[at]]
      local terms = {}
      for i, name in ipairs(algorithm.sent) do terms[name] = tonumber(ARGV[at + i]) end
      plan[part] = { algorithm = algorithm, terms = terms }
      at = at + 1 + #algorithm.sent
    end
    plans[number] = plan
  end
  return plans, at
end
