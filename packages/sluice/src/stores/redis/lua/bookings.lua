-- Bookings: spends at a turn ahead, turns that are given back, and what operators see of them.
--
-- A receipt is the time of the booking, and for each policy its queue states after and before the booking.

-- Returns the µs until every policy has a turn, and the gaps of those that have it in a gap, not behind all others.
local function wait_for(plan)
  local behind = 0
  for _, policy in ipairs(plan.policies) do behind = max(behind, policy.algorithm.turn(policy, read_repaired(policy))) end
  if behind == 0 or not has_gaps(plan) then return behind end
  local wait, places = meet(plan, true)
  return wait or behind, places
end

-- Replies with the levels at the turn, the µs until it, and its receipt.
-- If the turn is beyond max_wait: with the levels of a denial and the µs until the turn, -1 for never.
local function book(plan, max_wait)
  local wait, places = wait_for(plan)
  local first = reply_length + 1
  if wait > max_wait then
    for _, policy in ipairs(plan.policies) do add_level(policy, read(policy), true) end
    reply[first] = -1 - reply[first]
    return add_to_reply(wait < INFINITY and wait or -1)
  end
  local receipt = { wait > 0 and max(now, last_reset(plan) + 1) or now }
  for i, policy in ipairs(plan.policies) do
    local level, after, before = spend_at(policy, wait, places and places[i], 1)
    add_numbers(spread(level))
    for _, number in ipairs(after) do receipt[#receipt + 1] = number end
    for _, number in ipairs(before) do receipt[#receipt + 1] = number end
  end
  add_to_reply(wait)
  for _, number in ipairs(receipt) do add_to_reply(number) end
end
modes.book = { answer = book, may_reread = true, checks_resets = true, notes = 0 }

-- Gives a turn back.
-- given: the time of the turn, the receipt. Replies with 0.
local function leave(plan, given)
  local turn, booked_at, index = given[1], given[2], 2
  for _, policy in ipairs(plan.policies) do
    local width, after, before = policy.algorithm.queue_width, {}, {}
    for i = 1, width do after[i], before[i] = given[index + i], given[index + width + i] end
    index = index + 2 * width
    -- A reset has deleted the queue that the turn was in.
    if booked_at > reset_at(plan, policy) then
      if turn <= now then
        give(policy, turn)
      elseif booked_at <= now + GRACE and read(policy).expires_at > 0 then
        free_turn(policy, before, after)
      end
    end
  end
  add_to_reply(0)
end
modes.leave = { answer = leave, may_reread = true, checks_resets = true, notes = 0 }

-- Returns how many gaps between booked turns a request can still take.
local function count_gaps(algorithm, view)
  local count, width = 0, 7 * algorithm.queue_width
  for from = 1, view.gaps and #view.gaps or 0, 2 * width do
    if not algorithm.is_over(view, time_at(view.gaps, from + width)) then count = count + 1 end
  end
  return count
end

-- Inspects: a peek that also reports what is stored. It writes nothing, so it runs on replicas too.
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
