-- Inspections: peeks that also report what is stored. They write nothing, so they run on replicas too.

-- Returns how many freed turns a booking can still take.
local function count_freed(plan)
  local _, width = widths(plan)
  local turns, reset_moment, count = read_string(note_index(plan) - 1) or "", last_reset(plan), 0
  for index = 1, #turns / width do
    local booked = unpack(NUMBER, turns, (index - 1) * width + 7 * (1 + plan.size) + 1)
    if time_of(turns, index, width) > now and booked > reset_moment then count = count + 1 end
  end
  return count
end

-- Replies like a peek. Then for each policy: when its state expires (0: there is none), the µs until a turn (-1: never), its queue
-- state. Then the number of freed turns. Then of the reservation: the time of its debit and its expiry, 0 and 0 if there is none.
local function inspect(plan)
  spend_or_peek(plan, 1)
  for _, policy in ipairs(plan.policies) do
    local view, algorithm = policy.view, policy.algorithm
    local wait = algorithm.turn(policy, view)
    add_to_reply(view.expires_at)
    add_to_reply(wait < INFINITY and wait or -1)
    for _, number in ipairs(algorithm.queue_state(view)) do add_to_reply(number) end
  end
  add_to_reply(count_freed(plan))
  local note, debited_at, till = read_string(note_index(plan)), 0, 0
  if note then debited_at, till = unpack(">I7I7", note) end
  add_to_reply(debited_at)
  add_to_reply(till)
end
modes.inspect = { answer = inspect, checks_resets = true, notes = 2 }
