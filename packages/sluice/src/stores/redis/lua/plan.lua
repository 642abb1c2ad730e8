-- A plan is the mode and the policies of a request, without its keys, count and costs. Many requests share one.
-- It is sent as JSON: [mode, algorithm, policy, algorithm, policy, …]. Each text is decoded once and then cached.

-- The modes by name. Each file adds its own. Fields of a mode:
--
-- answer: the function that runs the request.
-- spends: whether it spends units.
-- may_reread: whether it may read a key again that it wrote.
-- checks_resets: whether it reads when its states were reset. Then the request has one more key per policy.
-- notes: how many keys it has for notes of its own.
local modes = {}

local MOST_PLANS = 1000
local plans, plan_count = {}, 0

local function decode_plan(text)
  local given = decode_json(text)
  local plan = { mode = modes[given[1]], policies = {}, has_strings = false, may_spend_all = true }
  for i = 2, #given, 2 do
    local algorithm, policy = algorithms[given[i]], given[i + 1]
    policy.algorithm, policy.index = algorithm, i / 2
    algorithm.prepare(policy)
    algorithm.set_cost(policy, 1)
    policy.units = 1
    plan.policies[policy.index] = policy
    if not algorithm.is_list then plan.has_strings = true end
    if not algorithm.take_all then plan.may_spend_all = false end
  end
  plan.size = #plan.policies
  plan.may_spend_all = plan.may_spend_all and plan.mode.spends
  plan.keys = plan.size * (plan.mode.checks_resets and 2 or 1) + plan.mode.notes
  return plan
end

local function find_plan(text)
  local plan = plans[text]
  if plan then return plan end
  plan = decode_plan(text)
  if plan_count == MOST_PLANS then plans, plan_count = {}, 0 end
  plans[text], plan_count = plan, plan_count + 1
  return plan
end

-- Reads the state of a policy of the current request.
local function read(policy) return policy.algorithm.read(policy, key_offset + policy.index) end

-- Reads the state of a policy, and repairs it if the clock went back since it was written.
local function read_repaired(policy)
  local view = read(policy)
  if not view.jumped then return view end
  policy.algorithm.save(policy, view, key_offset + policy.index)
  return read(policy)
end

-- Returns the index of the key of the request's note. It is the last key of the request.
local function note_index(plan) return key_offset + plan.keys end

-- Returns when a state of the current request was reset, -1 for never. Then the index of the note of the reset, and its expiry.
local function reset_at(plan, policy)
  local index = key_offset + plan.size + policy.index
  local value = written[keys[index]]
  if value == nil then value = try("GET", keys[index]) end
  -- A foreign value is ignored and will be overwritten.
  if type(value) ~= "string" or #value ~= 14 then return -1, index, 0 end
  local at, till = unpack(">I7I7", value)
  if till > MAX_SAFE_INTEGER then return -1, index, 0 end
  -- A reset in the future means that the clock went back. It is ignored.
  return till > now and at <= now + GRACE and at or -1, index, till
end

-- Returns the time of the last reset of any state of the current request.
local function last_reset(plan)
  local last = -1
  for _, policy in ipairs(plan.policies) do last = max(last, (reset_at(plan, policy))) end
  return last
end
