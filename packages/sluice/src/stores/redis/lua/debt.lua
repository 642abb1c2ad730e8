-- Charges into debt, and reservations, which are spends that are settled later.

-- Spends the cost whether it fits or not. Replies with the levels of a denied request of cost 1.
-- If the cost did not fit, the first number n is replaced by -1 - n.
local function charge(plan, max_wait)
  check_readable(plan)
  local first, fits = reply_length + 1, 1
  for _, policy in ipairs(plan.policies) do
    local algorithm, view = policy.algorithm, read_repaired(policy)
    fits = min(fits, algorithm.room(policy, view, 1))
    algorithm.charge(policy, view, max_wait, key_offset + policy.index)
    algorithm.set_cost(policy, 1)
    policy.units = 1
    add_level(policy, policy.view, true)
  end
  if fits == 0 then reply[first] = -1 - reply[first] end
end
modes.charge = { answer = charge, may_reread = true, notes = 0 }

-- Spends once, and writes a note with the time of the spend. The note lasts for as long as the reservation can be settled.
-- Replies like a spend.
local function reserve(plan, lasts)
  local first = reply_length + 1
  spend_or_peek(plan, 1)
  if reply[first] < 0 then return end
  local till, debited_at = now + lasts, max(now, last_reset(plan) + 1)
  write_string(note_index(plan), pack(">I7I7", debited_at, till), till, 0)
end
modes.reserve = { answer = reserve, may_reread = true, spends = true, checks_resets = true, notes = 1 }

-- Settles a reservation: charges or gives back the difference to the estimate.
-- given: max_wait, then for each policy 1 to charge its cost or 0 to give it back.
-- Replies with 1, or with 0 if the reservation is unknown, settled or expired.
local function settle(plan, given)
  local note = note_index(plan)
  local value = read_string(note)
  local debited_at, till = 0, 0
  if value then debited_at, till = unpack(">I7I7", value) end
  if till <= now then return add_to_reply(0) end
  check_readable(plan)
  remove(note)
  for i, policy in ipairs(plan.policies) do
    if given[i + 1] == 1 then
      policy.algorithm.charge(policy, read_repaired(policy), given[1], key_offset + i)
      policy.units = nil
    elseif debited_at > reset_at(plan, policy) then
      give(policy, debited_at)
    end
  end
  add_to_reply(1)
end
modes.settle = { answer = settle, may_reread = true, checks_resets = true, notes = 1 }
