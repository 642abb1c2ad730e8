-- Bookings: spends at a turn ahead, and turns that are given back.
--
-- A turn that is given back becomes a freed turn. The request's note lists the freed turns, soonest first. A freed turn consists
-- of its time, its cost under each policy, and its receipt.
--
-- A receipt is the time of the booking, the queue states of all policies after it, and those before it. Each number takes 7 bytes.

local NUMBER = ">i7"
-- How many freed turns are kept per note.
local MOST_FREED = 1024

local function encode_numbers(numbers)
  local texts = {}
  for i = 1, #numbers do texts[i] = pack(NUMBER, numbers[i]) end
  return concat(texts)
end

-- Returns the queue states of all policies, one after the other.
local function queue_states(plan)
  local states = {}
  for _, policy in ipairs(plan.policies) do
    for _, number in ipairs(policy.algorithm.queue_state(read(policy))) do states[#states + 1] = number end
  end
  return states
end

-- Returns the bytes of all queue states, and of a freed turn.
local function widths(plan)
  local numbers = 0
  for _, policy in ipairs(plan.policies) do numbers = numbers + policy.algorithm.queue_width end
  return 7 * numbers, 7 * (1 + plan.size + 1 + 2 * numbers)
end

local function time_of(turns, index, width) return (unpack(NUMBER, turns, (index - 1) * width + 1)) end

local function save_freed(index, turns, width, expired_at)
  if turns == "" then return remove(index) end
  write_string(index, turns, time_of(turns, #turns / width, width), expired_at)
end

local function booked_after(moment, turns, width, policies)
  local left = {}
  for from = 1, #turns, width do
    local booked = unpack(NUMBER, turns, from + 7 * (1 + policies))
    if booked > moment then left[#left + 1] = sub(turns, from, from + width - 1) end
  end
  return concat(left)
end

-- Returns the freed turns that are still to come, and when the note was to expire. A reset voids the turns booked before it.
local function freed_turns(index, width, policies, reset_moment)
  local turns = read_string(index) or ""
  local count = #turns / width
  local expired_at = count > 0 and time_of(turns, count, width) or 0
  local past = 0
  while past < count and time_of(turns, past + 1, width) <= now do past = past + 1 end
  local coming = sub(turns, past * width + 1)
  if reset_moment < 0 then return coming, expired_at end
  local left = booked_after(reset_moment, coming, width, policies)
  if #left < #coming then save_freed(index, left, width, expired_at) end
  return left, expired_at
end

local function without(turns, index, width)
  return sub(turns, 1, (index - 1) * width) .. sub(turns, index * width + 1)
end

-- Returns the index of the first freed turn with these costs.
local function find_costs(turns, width, costs)
  local text = encode_numbers(costs)
  for index = 1, #turns / width do
    local from = (index - 1) * width + 8
    if sub(turns, from, from + #text - 1) == text then return index end
  end
end

-- Adds the levels at `now + wait` to the reply. With `spends`, it spends there first.
local function add_levels_at(plan, wait, spends, is_short)
  now, lead = now + wait, spends and wait or 0
  for _, policy in ipairs(plan.policies) do
    local view = read(policy)
    if spends then settle_policy(policy, view, 1) end
    add_level(policy, view, is_short)
  end
  now, lead = now - wait, 0
end

-- Takes a freed turn of the same cost if that comes sooner. Otherwise it books a turn behind all others.
-- given: max_wait, then the cost of each policy.
-- Replies with the levels at the turn, the µs until it, and its receipt.
-- If the turn is beyond max_wait: with the levels of a denial and the µs until the turn, -1 for never.
local function book(plan, given)
  local max_wait, wait = given[1], 0
  for _, policy in ipairs(plan.policies) do wait = max(wait, policy.algorithm.turn(policy, read_repaired(policy))) end
  local note = note_index(plan)
  local states_width, width = widths(plan)
  local turns, expired_at, booked_at = "", 0, now
  if wait > 0 then
    local reset_moment = last_reset(plan)
    turns, expired_at = freed_turns(note, width, plan.size, reset_moment)
    booked_at = max(now, reset_moment + 1)
  end
  local first = reply_length + 1
  local freed = turns ~= "" and find_costs(turns, width, { spread(given, 2) })
  local sooner = freed and time_of(turns, freed, width) - now or INFINITY
  if sooner < wait and sooner <= max_wait then
    add_levels_at(plan, sooner, false, false)
    add_to_reply(sooner)
    local receipt = freed * width - 2 * states_width - 7
    for at = receipt + 1, freed * width, 7 do add_to_reply((unpack(NUMBER, turns, at))) end
    save_freed(note, without(turns, freed, width), width, expired_at)
  elseif wait <= max_wait then
    local before = queue_states(plan)
    add_levels_at(plan, wait, true, false)
    add_to_reply(wait)
    add_to_reply(booked_at)
    for _, number in ipairs(queue_states(plan)) do add_to_reply(number) end
    for _, number in ipairs(before) do add_to_reply(number) end
  else
    add_levels_at(plan, 0, false, true)
    reply[first] = -1 - reply[first]
    local soonest = min(sooner, wait)
    add_to_reply(soonest < INFINITY and soonest or -1)
  end
end
modes.book = { answer = book, may_reread = true, checks_resets = true, notes = 1 }

-- Returns the index of the last freed turn that is also the last turn in the queue.
local function find_last_in_queue(turns, states_width, width, plan)
  local states = encode_numbers(queue_states(plan))
  for index = #turns / width, 1, -1 do
    local from = index * width - 2 * states_width + 1
    if sub(turns, from, from + states_width - 1) == states then return index end
  end
end

-- Puts the queue of each policy back to its state before a freed turn.
local function restore_queues(turns, index, states_width, width, plan)
  local at = index * width - states_width + 1
  for _, policy in ipairs(plan.policies) do
    local algorithm, state = policy.algorithm, {}
    for i = 1, algorithm.queue_width do
      state[i] = unpack(NUMBER, turns, at)
      at = at + 7
    end
    algorithm.restore(policy, read(policy), state, key_offset + policy.index)
  end
end

-- Adds a turn that is still to come to the freed turns. Then removes freed turns from the end of the queue, as far as possible.
local function free_turn(plan, given, reset_moment)
  local note = note_index(plan)
  local states_width, width = widths(plan)
  local turns, expired_at = freed_turns(note, width, plan.size, reset_moment)
  local before = #turns / width
  while before > 0 and time_of(turns, before, width) > given[1] do before = before - 1 end
  turns = sub(turns, 1, before * width) .. encode_numbers(given) .. sub(turns, before * width + 1)
  local index = find_last_in_queue(turns, states_width, width, plan)
  while index do
    restore_queues(turns, index, states_width, width, plan)
    turns = without(turns, index, width)
    index = find_last_in_queue(turns, states_width, width, plan)
  end
  if #turns > MOST_FREED * width then turns = sub(turns, width + 1) end
  if turns ~= "" or expired_at > 0 then save_freed(note, turns, width, expired_at) end
end

-- Gives a turn back.
-- given: the time of the turn, the cost of each policy, the receipt. Replies with 0.
local function leave(plan, given)
  local turn, booked_at = given[1], given[plan.size + 2]
  local reset_moment = last_reset(plan)
  if turn <= now then
    for _, policy in ipairs(plan.policies) do
      if booked_at > reset_at(plan, policy) then give(policy, turn) end
    end
  elseif booked_at > reset_moment then
    free_turn(plan, given, reset_moment)
  end
  add_to_reply(0)
end
modes.leave = { answer = leave, may_reread = true, checks_resets = true, notes = 1 }
