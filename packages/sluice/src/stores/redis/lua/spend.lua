-- Spends and peeks. Nothing is written before all policies have room, so a denial changes nothing.
--
-- Replies with the levels of all policies. If fewer than `count` requests were granted, the first number n is replaced by -1 - n.
-- Then, for a count above 1, the number granted comes last.

local function add_numbers(first, second, third)
  local length = reply_length + 1
  reply[length] = first
  if second then
    length = length + 1
    reply[length] = second
    if third then
      length = length + 1
      reply[length] = third
    end
  end
  reply_length = length
end

local function add_level(policy, view, is_short) add_numbers(policy.algorithm.level(policy, view, is_short)) end

-- Spends the granted requests. A denial only repairs a state from before the clock went back.
local function settle_policy(policy, view, granted)
  local algorithm = policy.algorithm
  if granted > 0 then
    algorithm.take(policy, view, granted)
    algorithm.save(policy, view, key_offset + policy.index)
  elseif view.jumped then
    algorithm.save(policy, view, key_offset + policy.index)
  end
end

-- Defined in gaps.lua.
local has_gaps, fill_gaps

-- Spends by the fast path of the algorithms. Returns whether all policies had room there.
local function spend_all(plan, count)
  local policies, size, start = plan.policies, plan.size, reply_length
  for i = 1, size do
    local policy = policies[i]
    local level, second = policy.algorithm.take_all(policy, key_offset + i, count)
    if not level then
      reply_length = start
      return false
    end
    add_numbers(level, second)
  end
  for i = 1, size do
    local policy = policies[i]
    policy.algorithm.save_all(policy, key_offset + i)
  end
  return true
end

local function spend_or_peek(plan, count)
  local policies, spends, first, granted = plan.policies, plan.mode.spends, reply_length + 1, count
  if plan.may_spend_all and spend_all(plan, count) then return end
  for i = 1, plan.size do
    local policy = policies[i]
    local room = policy.algorithm.room(policy, read(policy), count)
    if room < granted then granted = room end
  end
  local fills = granted < count and has_gaps(plan)
  if fills then may_reread = true end
  for i = 1, plan.size do
    local policy = policies[i]
    local view = policy.view
    if spends then settle_policy(policy, view, granted) end
    if not fills then add_level(policy, view, granted < count) end
  end
  if fills then granted = fill_gaps(plan, count, granted) end
  if granted < count then
    reply[first] = -1 - reply[first]
    if count > 1 then add_to_reply(granted) end
  end
end

modes.spend = { answer = spend_or_peek, spends = true, notes = 0 }
modes.peek = { answer = spend_or_peek, notes = 0 }
