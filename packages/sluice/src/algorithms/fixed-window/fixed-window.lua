-- Fixed window: at most `limit` units per window. fixed-window.ts explains the names.
-- State: start and stop of the window (µs), units spent, reach (ms), 1 if the window was booked ahead. 26 bytes.
-- If units were given back or there are gaps between turns: the units given back (7 bytes), the gaps.
-- Policy: limit, window (µs), aligned (1: windows start at multiples of their length).
local fixed_window = { queue_width = 5, queue_identity = 4 }
algorithms.fixed_window = fixed_window

do
  local FORMAT, GIVEN = ">I7I7I6I5B", ">I7"
  -- The bytes of a gap.
  local GAP = 14 * fixed_window.queue_width

  function fixed_window.prepare(policy)
    policy.slack = max(policy.window, GRACE)
    policy.reach = ceil(policy.window / 1000)
    policy.view = {}
  end

  function fixed_window.set_cost(policy, units) policy.cost = units end

  -- Returns the window that contains `now`. A missing or expired state is an empty window of no length.
  function fixed_window.read(policy, index)
    local view, value = policy.view, read_string(index)
    local start, stop, spent, reach, booked, size = now, now, 0, 0, 0, value and #value
    view.expires_at, view.given, view.gaps = 0, 0, nil
    if value then
      if size < 26 or (size > 26 and (size - 33) % GAP ~= 0) then error("a window of " .. size .. " bytes") end
      start, stop, spent, reach, booked = unpack(FORMAT, value)
      if size > 26 then view.given = unpack(GIVEN, value, 27) end
      if size > 33 then view.gaps = sub(value, 34) end
      view.expires_at = stop
      if stop <= now then start, stop, spent, reach, booked, view.given = now, now, 0, 0, 0, 0 end
    end
    -- A window further ahead than any request leads means that the clock went back. The window counts as opened or booked now.
    view.jumped = stop - now > reach * 1000 + policy.slack
    if view.jumped then
      start = booked == 1 and now + reach * 1000 - (stop - start) or now
      stop, view.gaps = now + reach * 1000, nil
    end
    view.start, view.stop, view.spent, view.reach, view.booked = start, stop, spent, reach, booked
    view.opens_in = booked == 1 and max(start - now, 0) or 0
    return view
  end

  function fixed_window.room(policy, view, count)
    if view.opens_in > 0 then return 0 end
    local cost, left = policy.cost, policy.limit - view.spent
    return count * cost <= left and count or max(floor(left / cost), 0)
  end

  -- Extends the window to the length of this policy.
  local function extend(policy, view)
    -- No turn is booked any more.
    if lead == 0 and view.stop == now then view.gaps = nil end
    local window, stop, reach = policy.window, view.stop, policy.reach
    if policy.aligned == 1 then
      stop = now - now % window + window
    elseif view.stop - view.start < window then
      stop = now + window
    end
    if lead > 0 then reach = ceil((window + lead) / 1000) end
    if stop > view.stop then view.stop = stop end
    if reach > view.reach then view.reach = reach end
  end

  function fixed_window.take(policy, view, granted)
    if lead > 0 and view.stop == now then view.booked = 1 end
    extend(policy, view)
    view.spent = view.spent + granted * policy.cost
  end

  function fixed_window.save(_, view, index)
    local text = pack(FORMAT, view.start, view.stop, view.spent, view.reach, view.booked)
    if view.given > 0 or view.gaps then text = text .. pack(GIVEN, view.given) .. (view.gaps or "") end
    write_string(index, text, view.stop, view.expires_at)
  end

  -- Returns the level: units spent, µs until the window ends, and in a denial the µs until it opens.
  function fixed_window.level(_, view, is_short) return view.spent, view.stop - now, is_short and view.opens_in or nil end

  -- Returns the level of a denial that ends after `wait`.
  function fixed_window.level_until(policy, view, wait) return policy.limit - policy.cost, view.stop - now, wait end

  -- Returns the µs until the cost fits.
  function fixed_window.wait(policy, view)
    if policy.cost > policy.limit then return INFINITY end
    return view.spent + policy.cost > policy.limit and view.stop - now or view.opens_in
  end

  fixed_window.turn = fixed_window.wait

  function fixed_window.queue_state(view)
    return { view.stop, view.start, view.spent + view.given, view.booked, view.given }
  end

  -- Returns the window of an earlier queue state. If it is still the window of the view, less is spent by what was given back since.
  local function window_of(view, state)
    local stop, start, place, booked, given = spread(state)
    if stop == view.stop then given = view.given end
    local spent = max(place - given, 0)
    return { stop = stop, start = start, spent = spent, booked = booked, given = given, reach = view.reach }
  end

  function fixed_window.restore(policy, view, state, index)
    local earlier = window_of(view, state)
    if earlier.stop <= now then return remove(index) end
    earlier.expires_at, earlier.gaps = view.expires_at, view.gaps
    fixed_window.save(policy, earlier, index)
  end

  -- Returns the view at an earlier queue state, the front of a gap.
  function fixed_window.front(policy, view, state, back)
    local front, window, last_stop, last_start = window_of(view, state), policy.window, back[1], back[2]
    if front.stop <= now then
      -- Windows follow each other without a gap while turns are booked.
      local start = now - (policy.aligned == 1 and now or now - front.stop) % window
      local stop = start + window
      -- The next window is that of the turn at the back. It opens now, if it was to open later.
      if stop > last_start and now < last_stop then start, stop = min(last_start, now), last_stop end
      front.start, front.stop, front.spent, front.given, front.booked = start, stop, 0, 0, 1
    end
    front.opens_in = front.booked == 1 and max(front.start - now, 0) or 0
    return front
  end

  function fixed_window.is_within(_, view, back)
    return view.stop <= back[2] or (view.stop == back[1] and view.spent + view.given <= back[3])
  end

  function fixed_window.is_over(_, back_time) return back_time <= now end

  -- Spends the cost whether it fits or not. What does not fit is spent in the next window.
  function fixed_window.charge(policy, view, max_wait, index)
    extend(policy, view)
    local total = view.spent + policy.cost
    if total <= policy.limit then
      view.spent = total
    elseif view.stop - now <= max_wait + policy.window then
      view.start, view.stop, view.spent = view.stop, view.stop + policy.window, min(total - policy.limit, policy.limit)
      view.reach = max(view.reach, ceil((view.stop - now) / 1000))
      view.opens_in, view.booked, view.given = view.start - now, 1, 0
    else
      view.spent = max(view.spent, policy.limit)
    end
    fixed_window.save(policy, view, index)
  end

  function fixed_window.give(policy, view, debited_at, index)
    -- Units spent in an earlier window are gone with that window.
    if debited_at >= 0 and debited_at < view.start then return end
    local left = view.spent - policy.cost
    if left <= 0 and view.opens_in > 0 then
      -- The booked window is empty again. Move back to the last window that is not: the windows before it are full.
      local back = min(ceil(view.opens_in / policy.window), floor(-left / policy.limit) + 1)
      left = left + back * policy.limit
      view.start = view.start - back * policy.window
      view.stop, view.given = view.start + policy.window, 0
    else
      view.given = view.given + min(policy.cost, view.spent)
    end
    -- The gaps may lie behind the end of the queue now.
    view.spent, view.gaps = max(left, 0), nil
    if view.spent == 0 and view.start <= now then return remove(index) end
    fixed_window.save(policy, view, index)
  end
end
