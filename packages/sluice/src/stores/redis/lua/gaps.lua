-- Gaps: parts of the queue whose turns were given back. Requests that fit are admitted in them.
--
-- The gaps of a state are stored behind it, soonest first. Each consists of two queue states, its front and its back. Each
-- number takes 7 bytes. algorithm.ts explains them.

local NUMBER = ">i7"
-- If a state has more gaps, it drops one that is over, or else the shortest, which passes unused.
local MOST_GAPS = 8
-- How often a request under several policies with gaps looks for a moment at which all have a place.
local MOST_TRIES = 8

local function time_at(gaps, from) return (unpack(NUMBER, gaps, from)) end

local function decode_numbers(text, from, count)
  local numbers = {}
  for i = 1, count do numbers[i] = time_at(text, from + 7 * (i - 1)) end
  return numbers
end

local function encode_numbers(numbers)
  local texts = {}
  for i = 1, #numbers do texts[i] = pack(NUMBER, numbers[i]) end
  return concat(texts)
end

function has_gaps(plan)
  for _, policy in ipairs(plan.policies) do
    if policy.view.gaps then return true end
  end
  return false
end

local function wait_in(policy, view, is_turn)
  if is_turn then return policy.algorithm.turn(policy, view) end
  return policy.algorithm.wait(policy, view)
end

-- Takes the cost at the front of a gap, `ahead` µs after now. Returns nil if it does not fit, or the front and its level then.
local function fill(policy, gap, ahead, times)
  local algorithm = policy.algorithm
  now, lead = now + ahead, ahead
  local filled = algorithm.front(policy, read(policy), gap.front, gap.back)
  algorithm.take(policy, filled, times)
  local fits = algorithm.is_within(policy, filled, gap.back)
  local level = fits and { algorithm.level(policy, filled, false) }
  now, lead = now - ahead, 0
  return fits and filled, level
end

-- Finds the soonest place for the cost of a policy, as seen from `ahead` µs after now.
-- Returns how long it is until then, and the gap. Without a gap, the place is behind all turns.
local function soonest_place(policy, ahead, is_turn)
  local algorithm, width = policy.algorithm, policy.algorithm.queue_width
  now = now + ahead
  local view = read(policy)
  local wait, gaps, place = wait_in(policy, view, is_turn), view.gaps or "", nil
  -- Later gaps have later fronts. So the first gap that the cost fits into is the soonest.
  for from = 1, #gaps, 14 * width do
    local front, back = decode_numbers(gaps, from, width), decode_numbers(gaps, from + 7 * width, width)
    if not algorithm.is_over(view, back[1]) and (not algorithm.may_fit or algorithm.may_fit(policy, front, back)) then
      local gap = { from = from, front = front, back = back }
      local sooner = wait_in(policy, algorithm.front(policy, read(policy), front, back), is_turn)
      -- At the same time, in the gap rather than behind all turns.
      if sooner > wait or sooner == INFINITY then break end
      -- Who does not wait for a turn is told whole milliseconds, and comes back then.
      local comes_in = is_turn and sooner or ceil(sooner / 1000) * 1000
      now = now - ahead
      if fill(policy, gap, ahead + comes_in, 1) then wait, place = sooner, gap end
      now = now + ahead
      if place then break end
    end
  end
  now = now - ahead
  return wait, place
end

-- Spends the cost of one policy in a gap, or behind all turns, `ahead` µs after now.
-- Returns its level then, and its queue states after and before.
local function spend_at(policy, ahead, gap, times)
  local algorithm, index = policy.algorithm, key_offset + policy.index
  if gap then
    local filled, level = fill(policy, gap, ahead, times)
    local front, view = algorithm.queue_state(filled), read(policy)
    if algorithm.note_gap then algorithm.note_gap(view, filled) end
    local text = encode_numbers(front)
    view.gaps = sub(view.gaps, 1, gap.from - 1) .. text .. sub(view.gaps, gap.from + #text)
    algorithm.save(policy, view, index)
    return level, front, gap.front
  end
  local before = algorithm.queue_state(read(policy))
  now, lead = now + ahead, ahead
  local view = read(policy)
  settle_policy(policy, view, times)
  local level = { algorithm.level(policy, view, false) }
  now, lead = now - ahead, 0
  return level, algorithm.queue_state(read(policy)), before
end

-- Finds the soonest moment at which every policy has a place for its cost.
-- Returns how long it is until then, and the gaps. Nil if a few tries do not find one.
local function meet(plan, is_turn)
  local wait, places = 0, {}
  for _ = 1, MOST_TRIES do
    local longest = 0
    for i, policy in ipairs(plan.policies) do
      local more, place = soonest_place(policy, wait, is_turn)
      longest, places[i] = max(longest, more), place
    end
    if longest == INFINITY then return nil end
    -- With one policy, the first place is the one.
    if longest == 0 or plan.size == 1 then return wait + longest, places end
    -- Who does not wait for a turn comes back after whole milliseconds.
    wait = wait + (is_turn and longest or ceil(longest / 1000) * 1000)
  end
end

-- Returns the level of a policy that was not charged. A denial ends after `wait`.
local function level_in(policy, own, gap, wait, is_short)
  local algorithm, view = policy.algorithm, read(policy)
  if is_short and (gap or wait > own) then return { algorithm.level_until(policy, view, wait) } end
  return { algorithm.level(policy, gap and algorithm.front(policy, view, gap.front, gap.back) or view, is_short) }
end

-- Returns how long the policy that holds up a denial longest waits, and how long until all policies have a place.
local function denied_for(plan, waits)
  local longest, behind = 0, 0
  for i, policy in ipairs(plan.policies) do
    longest, behind = max(longest, waits[i]), max(behind, policy.algorithm.wait(policy, read(policy)))
  end
  return longest, meet(plan, false) or behind
end

-- Returns how often the costs fit into these gaps at once, at most `times`. Not always the most, but found in few steps.
local function times_in(plan, gaps, times)
  for i, policy in ipairs(plan.policies) do
    local view = read(policy)
    if gaps[i] then view = policy.algorithm.front(policy, view, gaps[i].front, gaps[i].back) end
    times = policy.algorithm.room(policy, view, times)
  end
  local function fits()
    for i, policy in ipairs(plan.policies) do
      if gaps[i] and not fill(policy, gaps[i], 0, times) then return false end
    end
    return true
  end
  while times > 1 and not fits() do times = floor(times / 2) end
  return max(times, 1)
end

-- Spends or peeks in the gaps between turns, after `granted` were spent behind all turns. Adds the levels to the
-- reply. Returns how many are granted in all.
function fill_gaps(plan, count, granted)
  local levels, is_over
  repeat
    local waits, gaps, fits = {}, {}, true
    for i, policy in ipairs(plan.policies) do
      waits[i], gaps[i] = soonest_place(policy, 0, false)
      fits = fits and waits[i] == 0
    end
    is_over = not (fits and plan.mode.spends)
    local times = is_over and 1 or times_in(plan, gaps, count - granted)
    if not is_over or (fits and granted == 0) then granted = granted + times end
    levels = {}
    local longest, wait = 0, 0
    if is_over and granted < count then longest, wait = denied_for(plan, waits) end
    for i, policy in ipairs(plan.policies) do
      local own = waits[i]
      local until_all = own == longest and wait > own and wait or own
      levels[i] = is_over and level_in(policy, own, gaps[i], until_all, granted < count) or (spend_at(policy, 0, gaps[i], times))
    end
  until is_over or granted == count
  for _, level in ipairs(levels) do add_numbers(spread(level)) end
  return granted
end

-- Returns the gaps without the one at `from`, and that one. Of `from` nil, all gaps.
local function without(gaps, from, size)
  if not from then return gaps, nil end
  return sub(gaps, 1, from - 1) .. sub(gaps, from + size), sub(gaps, from, from + size - 1)
end

-- Returns where the first gap starts that has this queue state, `offset` bytes after its start.
local function find_gap(gaps, size, offset, queue)
  for from = 1, #gaps, size do
    if sub(gaps, from + offset, from + offset + #queue - 1) == queue then return from end
  end
end

-- Returns whether the queue state in the gaps comes behind another one. Compares numbers, because the order of strings depends on the locale.
local function is_behind(gaps, from, queue, identity)
  for i = 0, identity - 7, 7 do
    local one, other = time_at(gaps, from + i), time_at(queue, 1 + i)
    if one ~= other then return one > other end
  end
  return false
end

-- Returns whether a turn is in no queue any more: it was given back already, or units were given back that it had spent.
local function is_free(gaps, size, queue, front, back, identity)
  if is_behind(back, 1, encode_numbers(queue), identity) then return true end
  for from = 1, #gaps, size do
    local starts_later = is_behind(gaps, from, front, identity)
    if not starts_later and not is_behind(back, 1, sub(gaps, from + size / 2, from + size - 1), identity) then return true end
  end
  return false
end

-- Sooner gaps are worth more, so it returns the last of several.
local function find_shortest(gaps, size)
  local shortest, least = 1, INFINITY
  for from = 1, #gaps, size do
    local length = time_at(gaps, from + size / 2) - time_at(gaps, from)
    if length <= least then shortest, least = from, length end
  end
  return shortest
end

-- Frees a turn between two queue states: the queue ends earlier, or has a gap. Works on the bytes of the gaps.
local function free_turn(policy, before, after)
  local algorithm, view = policy.algorithm, read_repaired(policy)
  local gaps, width, identity = view.gaps or "", 7 * algorithm.queue_width, 7 * algorithm.queue_identity
  local size = 2 * width
  local front, back = encode_numbers(before), encode_numbers(after)
  if is_free(gaps, size, algorithm.queue_state(view), front, back, identity) then return end
  local previous, following
  gaps, previous = without(gaps, find_gap(gaps, size, width, sub(front, 1, identity)), size)
  if previous then front = sub(previous, 1, width) end
  local queue = encode_numbers(algorithm.queue_state(view))
  if sub(queue, 1, identity) == sub(back, 1, identity) then
    view.gaps = gaps ~= "" and gaps or nil
    return algorithm.restore(policy, view, decode_numbers(front, 1, algorithm.queue_width), key_offset + policy.index)
  end
  gaps, following = without(gaps, find_gap(gaps, size, 0, sub(back, 1, identity)), size)
  if following then back = sub(following, width + 1) end
  local at = 1
  while at < #gaps and not is_behind(gaps, at + width, back, identity) do at = at + size end
  gaps = sub(gaps, 1, at - 1) .. front .. back .. sub(gaps, at)
  if #gaps > MOST_GAPS * size then
    gaps = without(gaps, algorithm.is_over(view, time_at(gaps, width + 1)) and 1 or find_shortest(gaps, size), size)
  end
  if algorithm.note_gap then algorithm.note_gap(view) end
  view.gaps = gaps
  algorithm.save(policy, view, key_offset + policy.index)
end
