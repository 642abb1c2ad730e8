-- Inspections: peeks that also report what is stored. They write nothing, so they run on replicas too.

-- Returns how many gaps between booked turns a request can still take.
local function count_gaps(algorithm, view)
  local count, width = 0, 7 * algorithm.queue_width
  for from = 1, view.gaps and #view.gaps or 0, 2 * width do
    if not algorithm.is_over(view, time_at(view.gaps, from + width)) then count = count + 1 end
  end
  return count
end

-- Replies like a peek. Then for each policy: when its state expires (0: there is none), the µs until a turn (-1: never), its queue
-- state. Then the most gaps that a policy has. Then of the reservation: the time of its debit and its expiry, 0 and 0 if there is none.
local function inspect(plan)
  spend_or_peek(plan, 1)
  local gaps = 0
  for _, policy in ipairs(plan.policies) do
    local view, algorithm = read(policy), policy.algorithm
    local wait = algorithm.turn(policy, view)
    gaps = max(gaps, count_gaps(algorithm, view))
    add_to_reply(view.expires_at)
    add_to_reply(wait < INFINITY and wait or -1)
    for _, number in ipairs(algorithm.queue_state(view)) do add_to_reply(number) end
  end
  add_to_reply(gaps)
  local note, debited_at, till = read_string(note_index(plan)), 0, 0
  if note then debited_at, till = unpack(">I7I7", note) end
  add_to_reply(debited_at)
  add_to_reply(till)
end
modes.inspect = { answer = inspect, checks_resets = true, notes = 1 }
