-- Giving units back, and resetting states. Both reply with 0.

-- Reads all policies, so that an unreadable state fails the request before anything is written.
local function check_readable(plan)
  for _, policy in ipairs(plan.policies) do read(policy) end
end

local function give(policy, debited_at)
  policy.algorithm.give(policy, read(policy), debited_at, key_offset + policy.index)
end

-- debited_at: the time when the units were spent, or -1 for a refund. Units spent before a reset are not given back after it.
local function give_back(plan, debited_at)
  check_readable(plan)
  for _, policy in ipairs(plan.policies) do
    if debited_at < 0 or debited_at > reset_at(plan, policy) then give(policy, debited_at) end
  end
  add_to_reply(0)
end
modes.give = { answer = give_back, may_reread = true, checks_resets = true, notes = 0 }

-- Removes the states, and notes the time of the reset for as long as the spent units would have counted.
local function reset(plan)
  local moments = {}
  for _, policy in ipairs(plan.policies) do
    -- An unreadable state is removed too. It needs no note, because nothing spent in it can be given back.
    local is_readable, view = pcall(read, policy)
    if is_readable and view.expires_at > now then
      local at, index, till = reset_at(plan, policy)
      local key, until_when = keys[index], max(view.expires_at, till)
      moments[key] = moments[key] or max(now, at + 1)
      write_string(index, pack(">I7I7", moments[key], until_when), until_when, till)
    end
    remove(key_offset + policy.index)
  end
  add_to_reply(0)
end
modes.forget = { answer = reset, may_reread = true, checks_resets = true, notes = 0 }
