-- Sliding log and sliding window: at most `limit` units in any span of one window. log.ts explains the names.
--
-- State: a Redis list of entries, oldest first. An entry has 19 bytes, or 24 if it was booked ahead. Its fields:
--
-- at: the time in µs.
-- total: the running total of units.
-- till: until when a policy needs the entry, in ms.
-- lead: how far ahead it was booked, in ms.
--
-- The gaps between turns are stored behind the newest entry.
--
-- The entry at index 0 is the base. It only carries the total before the first real entry.
--
-- Policy: limit, window (µs), merge (µs). Grants within one sub-window of `merge` share an entry. It is 1 for a log.
local log = { queue_width = 9, queue_identity = 2, is_list = true }
algorithms.log = log

do
  local ENTRY, LEAD = ">I7I6I6", ">I5"
  -- Running totals wrap around at this number, 2^48.
  local WRAP = 281474976710656
  -- The most expired entries that one grant removes.
  local MOST_PRUNED = 32
  -- The first entry that counts is usually among these. Beyond them a search is cheaper.
  local NEXT_ENDS = { "10", "32" }
  local BASE = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"

  function log.prepare(policy) policy.view = {} end

  function log.set_cost(policy, units) policy.cost = units end

  local function units_between(base, total) return (total - base + WRAP) % WRAP end

  local function to_ms(us) return (us + -us % 1000) / 1000 end

  local function encode(at, total, till, leads)
    local value = pack(ENTRY, at, total, till)
    return leads > 0 and value .. pack(LEAD, leads) or value
  end

  local function decode(value)
    local at, total, till = unpack(ENTRY, value)
    return at, total, till, #value > 19 and unpack(LEAD, value, 20) or 0
  end

  local function entry(index, value)
    local at, total, till, leads = decode(value)
    return { index = index, at = at, total = total, till = till, leads = leads }
  end

  local function entry_at(key, index) return entry(index, call("LINDEX", key, index)) end

  local function newest_entry(view)
    return { index = call("LLEN", view.key) - 1, at = view.last, total = view.total, till = view.till, leads = view.leads }
  end

  -- Returns the first entry whose value reaches a target. The entry below does not reach it, the one above does.
  -- It alternates interpolation and bisection to save calls of LINDEX, which costs more the deeper it looks.
  local function search(key, value_of, target, below, above)
    local guess = true
    while above.index - below.index > 1 do
      local share = guess and (target - value_of(below)) / (value_of(above) - value_of(below)) or 0.5
      local index = below.index + floor(share * (above.index - below.index))
      local probe = entry_at(key, max(below.index + 1, min(index, above.index - 1)))
      if value_of(probe) >= target then above = probe else below = probe end
      guess = not guess
    end
    return above
  end

  -- Returns the last entry below a target, and the first that reaches it, if there is one.
  local function around(view, value_of, target)
    local head = view.head
    local base, first, second = entry(0, head[1]), entry(1, head[2]), head[3] and entry(2, head[3])
    if value_of(first) >= target then return base, first end
    if second and value_of(second) >= target then return first, second end
    local newest = newest_entry(view)
    if value_of(newest) < target then return newest, nil end
    local found = search(view.key, value_of, target, second or first, newest)
    return entry_at(view.key, found.index - 1), found
  end

  local function at_of(each) return each.at end

  -- After the clock went back: units that counted before count as spent or booked now.
  local function read_after_jump(view, reach)
    local before = around(view, function(each) return each.till end, floor(view.last / 1000) + 1)
    local spent = units_between(before.total, view.total)
    view.last = now + view.leads * 1000
    view.till = ceil((view.last + reach) / 1000)
    view.base, view.spent, view.total, view.jumped, view.gaps = 0, spent, spent, true, nil
    view.repaired = encode(view.last, spent, view.till, view.leads)
    view.first, view.first_value = 1, view.repaired
    return view
  end

  -- Finds the first entry at or after `from`. Sets its index, its value, and the running total before it.
  local function find_first(view, from)
    local head = view.head
    local _, base = decode(head[1])
    for index = 1, #head - 1 do
      local at, total = decode(head[index + 1])
      if at >= from then
        view.first, view.first_value, view.base = index, head[index + 1], base
        return
      end
      base = total
    end
    if head[3] and view.last >= from then
      local index = 3
      for _, last in ipairs(NEXT_ENDS) do
        for _, value in ipairs(call("LRANGE", view.key, format("%d", index), last)) do
          local at, total = decode(value)
          if at >= from then
            view.first, view.first_value, view.base = index, value, base
            return
          end
          index, base = index + 1, total
        end
      end
    end
    local before, found = around(view, at_of, from)
    view.first, view.base = before.index + 1, before.total
    view.first_value = found and encode(found.at, found.total, found.till, found.leads)
  end

  function log.read(policy, index)
    local view, key = policy.view, keys[index]
    local head = call("LRANGE", key, "0", "2")
    local size = #head
    view.key, view.head, view.jumped, view.granted, view.gaps, view.had_gaps = key, head, false, 0, nil, nil
    if size == 0 then
      view.first, view.first_value, view.base, view.spent = 1, nil, 0, 0
      view.last, view.leads, view.total, view.till, view.expires_at = 0, 0, 0, 0, 0
      return view
    end
    local newest = size < 3 and head[size] or call("LINDEX", key, "-1")
    view.last, view.total, view.till, view.leads = decode(newest)
    if #newest > 24 then view.gaps, view.had_gaps = sub(newest, 25), true end
    view.expires_at = view.till * 1000
    local reach = view.expires_at - view.last
    -- An entry further ahead than any request leads means that the clock went back.
    if view.last > now and view.last - now > max(reach, GRACE) + view.leads * 1000 then return read_after_jump(view, reach) end
    find_first(view, now - policy.window + 1)
    view.spent = units_between(view.base, view.total)
    return view
  end

  function log.room(policy, view, count)
    -- No request overtakes a booked turn.
    if view.leads > 0 and view.last > now then return 0 end
    local cost, left = policy.cost, policy.limit - view.spent
    return count * cost <= left and count or max(floor(left / cost), 0)
  end

  local function matters(value) return unpack(">I6", value, 14) * 1000 > now - lead end

  -- Removes entries that count neither under this policy nor under the one that granted them.
  -- No entry counts for longer than a later one, so it usually suffices to check the last of them.
  local function prune(view)
    local most = min(view.first - 1, MOST_PRUNED)
    if most <= 0 then return end
    local old = most < #view.head and view.head
    if not old and matters(call("LINDEX", view.key, most)) then old = call("LRANGE", view.key, 0, most) end
    local gone = most
    if old then
      gone = 0
      while gone < most and not matters(old[gone + 2]) do gone = gone + 1 end
    end
    if gone == 0 then return end
    call("LPOP", view.key, format("%d", gone))
    view.first = view.first - gone
  end

  -- Admits the cost in a gap: in place of units of the gap that come now or later.
  local function take_in_gap(policy, view, granted)
    local gap = view.gap
    gap.takes = granted * policy.cost
    view.spent, view.last = view.spent + gap.takes, now
    local till = max(gap.base[3], to_ms(now + policy.window))
    gap.used = { now, (gap.base[2] + view.spent - gap.real) % WRAP, till, to_ms(lead) }
  end

  -- Returns up to where entries in the gap are taken. Found only if it is needed, because that takes a search.
  local function taken_in(view)
    local gap, total = view.gap, view.whole.total
    if gap.takes then
      local before = around(view.whole, at_of, gap.used[1]).total
      local from = units_between(before, total) < units_between(gap.taken, total) and before or gap.taken
      gap.taken, gap.takes = (from + gap.takes) % WRAP, nil
    end
    return gap.taken
  end

  function log.take(policy, view, granted)
    if view.gap then return take_in_gap(policy, view, granted) end
    -- Not before the newest entry, because the log must stay sorted even if the clock went back.
    local at = view.last > now and view.last or now
    local till = max(to_ms(at + policy.window), view.till)
    -- An entry of a shorter window is not extended, because its units must not count for longer.
    local same_window = view.till >= to_ms(view.last + policy.window)
    local same_sub_window = view.last - view.last % policy.merge == at - at % policy.merge
    view.merges = view.spent > 0 and same_window and same_sub_window
    if view.merges and unpack(">I6", view.first_value, 8) == view.total then view.first_value = nil end
    view.granted = granted * policy.cost
    view.spent, view.total = view.spent + view.granted, (view.total + view.granted) % WRAP
    view.last, view.till, view.leads = at, till, lead > 0 and to_ms(lead) or 0
    -- No turn is booked any more.
    if lead == 0 then view.gaps = nil end
    view.newest = encode(at, view.total, till, view.leads)
    view.first_value = view.first_value or view.newest
  end

  -- Returns the newest entry with the gaps behind it, which are kept with the last booked turn.
  local function with_gaps(text, gaps) return gaps and #text == 24 and text .. gaps or text end

  -- Writes the repairs of `read` after a clock jump, the grants, or else the gaps.
  function log.save(_, view)
    local key = view.key
    if view.jumped then
      call("DEL", key)
      call("RPUSH", key, BASE, view.repaired)
      view.expires_at = 0
    end
    if view.granted > 0 then
      if not view.head[1] then
        call("RPUSH", key, BASE, view.newest)
      elseif view.merges then
        call("LSET", key, "-1", with_gaps(view.newest, view.gaps))
      else
        if view.had_gaps then call("LSET", key, "-1", sub(call("LINDEX", key, "-1"), 1, 24)) end
        call("RPUSH", key, with_gaps(view.newest, view.gaps))
      end
      if view.first > 1 then prune(view) end
    elseif not view.jumped then
      call("LSET", key, "-1", with_gaps(encode(view.last, view.total, view.till, view.leads), view.gaps))
    end
    expire(key, view.till * 1000, view.expires_at)
  end

  -- Returns the first entry at which the units that count add up to at least `amount`.
  local function reaching(view, amount)
    local function spent(each) return units_between(view.base, each.total) end
    local first = entry(view.first, view.first_value)
    if spent(first) >= amount then return first end
    return search(view.key, spent, amount, first, newest_entry(view))
  end

  -- Returns the µs until enough entries have expired for the cost to fit, and all booked turns have passed.
  local function wait(policy, view)
    local queue = view.leads > 0 and max(view.last - now, 0) or 0
    local excess = view.spent + policy.cost - policy.limit
    if policy.cost > policy.limit or excess <= 0 then return queue end
    if view.gap and excess > view.gap.real then return max(view.last + policy.window - now, queue) end
    return max(reaching(view.whole or view, excess).at + policy.window - now, queue)
  end

  -- Returns the level: units spent, µs until nothing is spent, and in a denial the µs until the cost fits.
  function log.level(policy, view, is_short, time)
    local spent, left = view.spent, view.last + policy.window - now
    return spent, spent > 0 and left or 0, is_short and (time or wait(policy, view)) or nil
  end

  -- Returns the level of a denial that ends after `time` µs.
  function log.level_until(policy, view, time) return log.level(policy, view, true, time) end

  function log.wait(policy, view) return policy.cost > policy.limit and INFINITY or wait(policy, view) end

  log.turn = log.wait

  -- Returns the entry of what was admitted in a gap, the one before it, and up to where entries in the gap are taken.
  -- Without a gap, both are the newest entry.
  function log.queue_state(view)
    local last, total, till, leads, gap = view.last, view.total, view.till, view.leads, view.gap
    if not gap then return { last, total, till, leads, last, total, till, leads, total } end
    local used, base = gap.used, gap.base
    return { used[1], used[2], used[3], used[4], base[1], base[2], base[3], base[4], taken_in(view) }
  end

  local function entries_in(state) return { spread(state, 1, 4) }, { spread(state, 5, 8) } end

  -- Sets the expiry by the newest entry. Deletes a log in which no entry counts.
  local function set_expiry(key, expired_at)
    local till = entry_at(key, -1).till * 1000
    if call("LLEN", key) == 1 or till <= now then return call("DEL", key) end
    expire(key, till, expired_at)
  end

  -- Puts the queue back to an earlier state.
  function log.restore(_, view, state)
    local key, used, base = view.key, entries_in(state)
    local start = entry(0, view.head[1]).total
    local left = units_between(start, base[2])
    -- More units were given back, or have expired, than were spent before the turn.
    local is_void = left > units_between(start, view.total)
    local function spent(each) return units_between(start, each.total) end
    call("LTRIM", key, 0, is_void and 0 or min(around(view, spent, left + 1).index, call("LLEN", key) - 2))
    -- The turn may have been merged into the entry before it.
    if not is_void and entry_at(key, -1).total ~= base[2] then call("RPUSH", key, encode(spread(base))) end
    local more = units_between(base[2], used[2])
    if is_void then used[2] = (start + more) % WRAP end
    if more > 0 then call("RPUSH", key, encode(spread(used))) end
    if view.gaps then call("LSET", key, "-1", with_gaps(call("LINDEX", key, "-1"), view.gaps)) end
    set_expiry(key, 0)
  end

  -- Returns the view at an earlier queue state. The entries behind it stay in the log. log.ts says what for.
  function log.front(policy, view, state)
    local used, base = entries_in(state)
    local real = max(view.spent - units_between(base[2], view.total), 0)
    local counting = used[1] + policy.window > now and units_between(base[2], used[2]) or 0
    local gap = { base = base, used = used, real = real, taken = counting > 0 and state[9] or base[2] }
    return { whole = view, gap = gap, spent = real + counting, last = used[1], leads = 1 }
  end

  function log.is_within(policy, view, back)
    local base, used = view.gap.base, view.gap.used
    if back[2] ~= back[6] then
      -- The turn at the back was itself admitted in a gap. Each unit replaces one of its units, no later.
      if back[6] ~= base[2] or used[1] > back[1] then return false end
      return units_between(base[2], used[2]) <= units_between(base[2], back[2])
    end
    if used[1] + policy.window < back[1] then return true end
    return units_between(base[2], taken_in(view)) <= units_between(base[2], back[2])
  end

  -- Returns false if the cost certainly does not fit into a gap, without a search.
  function log.may_fit(policy, front, back)
    return max(now, front[1]) + policy.window < back[1] or units_between(front[6], back[2]) >= policy.cost
  end

  function log.is_over(_, back_time) return back_time < now end

  -- Spends the units that fit now. The rest is spent at its turn ahead, if that is within the limit of debt.
  function log.charge(policy, view, max_wait, index)
    local cost = policy.cost
    policy.cost = 1
    local fits = log.room(policy, view, cost)
    if fits > 0 then log.take(policy, view, fits) end
    if fits > 0 or view.jumped then log.save(policy, view) end
    policy.cost = min(cost - fits, policy.limit)
    if policy.cost > 0 then
      local later = wait(policy, log.read(policy, index))
      if later <= max_wait + policy.window then
        now, lead = now + later, later
        log.take(policy, log.read(policy, index), 1)
        log.save(policy, view)
        now, lead = now - later, 0
      end
    end
    log.read(policy, index)
  end

  -- Removes the newest units: cuts the log after the entry that reaches the rest.
  local function give_newest(policy, view)
    local key, left = view.key, view.spent - policy.cost
    if left <= 0 then
      call("LTRIM", key, 0, view.first - 1)
    else
      local cut = reaching(view, left)
      call("LTRIM", key, 0, cut.index)
      call("LSET", key, -1, encode(cut.at, (view.base + left) % WRAP, cut.till, cut.leads))
    end
    set_expiry(key, view.expires_at)
  end

  -- Removes the oldest units that count. The entry of the spend is unknown, and the oldest units expire no later than its units.
  -- If another policy still needs older entries, nothing is removed.
  local function give_oldest(policy, view)
    local key, older = view.key, view.first - 1
    local older_matter = older > 0 and entry_at(key, older).till * 1000 > now
    if view.till * 1000 <= now or (not older_matter and policy.cost >= view.spent) then return call("DEL", key) end
    if older_matter then return end
    if older > 0 then
      call("LTRIM", key, older, -1)
      view.first = 1
    end
    local cut = reaching(view, policy.cost)
    local total = (view.base + policy.cost) % WRAP
    call("LTRIM", key, cut.total == total and cut.index or cut.index - 1, -1)
    call("LSET", key, 0, encode(0, total, 0, 0))
  end

  -- Gives the cost back. With `debited_at`, it gives back only the units of that spend that certainly still count.
  function log.give(policy, view, debited_at)
    if #view.head == 0 or (debited_at >= 0 and debited_at + policy.window <= now) then return end
    -- While the queue has a gap, nothing is given back, because the gap cannot say whose units they were.
    local gaps = view.gaps
    if debited_at >= 0 and gaps and unpack(">i7", gaps, #gaps - 7 * log.queue_width + 1) >= now then return end
    -- The gaps may lie behind the end of the queue then.
    view.gaps = nil
    if view.jumped or view.had_gaps then log.save(policy, view) end
    if debited_at >= 0 then give_oldest(policy, view) else give_newest(policy, view) end
  end
end
