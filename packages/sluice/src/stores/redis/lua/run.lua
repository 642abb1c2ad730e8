-- Runs all requests of a call in order.
--
-- keys: the keys of each request.
--       One key per policy.
--       If the mode checks resets: one more key per policy, for the time of its reset.
--       If the mode has a note: one key for it.
--
-- args: [1] the time in µs by the caller's clock, or "" for the server's clock.
--       [2] "1" if a key may occur in two requests, otherwise "". Within a request, keys differ.
--       [3] "" if all requests use the first plan with count 1 and cost 1. Otherwise a JSON list.
--           It has for each request the number of its plan, its count or other input, and its cost under each policy.
--       [4] and on: the plans.
--
-- Returns the time, then the replies of all requests in one flat list. A failed request has its error message in an array instead.

-- The list of the third argument. Entries up to `given_offset` belong to earlier requests.
local given, given_offset
-- The plans of this call by number. Entries beyond this call's plans are left over from earlier calls.
local numbered = {}
-- The current request: its plan, its count, and the length of the reply before it.
local plan, count, reply_start

local function set_now(text)
  caller_now, lead = text ~= "" and text + 0, 0
  now = caller_now
  if now then return end
  local time = call("TIME")
  now = time[1] * 1000000 + time[2]
end

local function set_cost(policy, units)
  if policy.units == units then return end
  policy.algorithm.set_cost(policy, units)
  policy.units = units
end

local function next_given()
  plan, count = numbered[given[given_offset + 1]], given[given_offset + 2]
  for i = 1, plan.size do set_cost(plan.policies[i], given[given_offset + 2 + i]) end
  given_offset = given_offset + 2 + plan.size
end

local function answer_all()
  while key_offset < #keys do
    reply_start = reply_length
    if given then next_given() end
    if plan.mode.may_reread then may_reread = true end
    plan.mode.answer(plan, count)
    key_offset = key_offset + plan.keys
  end
end

-- Replaces the reply to the current request with its error.
local function add_error(problem)
  now, lead, reply_length = reply[1], 0, reply_start
  for extra = #reply, reply_start + 1, -1 do reply[extra] = nil end
  add_to_reply({ type(problem) == "table" and problem.err or problem })
  for _, policy in ipairs(plan.policies) do policy.units = nil end
  key_offset = key_offset + plan.keys
end

-- Reads all strings at once. If MGET fails or finds no value for a key, read_string reads that key itself.
local function read_values()
  local found = #keys > 1 and numbered[1].has_strings and try("MGET", spread(keys))
  values = found and not found.err and found or {}
end

local function run(all_keys, args)
  if not call then bind() end
  keys, key_offset, may_reread = all_keys, 0, args[2] ~= ""
  if next(written) then written = {} end
  set_now(args[1])
  -- Preallocated for the reply to one request, because Lua copies a table when it grows.
  reply, reply_length = { now, nil, nil }, 1
  for i = 4, #args do numbered[i - 3] = find_plan(args[i]) end
  if args[3] == "" then
    given, plan, count = nil, numbered[1], 1
    for i = 1, plan.size do set_cost(plan.policies[i], 1) end
  else
    given, given_offset = decode_json(args[3]), 0
  end
  read_values()
  while key_offset < #keys do
    local is_done, problem = pcall(answer_all)
    if not is_done then add_error(problem) end
  end
  return reply
end
