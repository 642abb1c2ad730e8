-- Sliding log and sliding window: at most `limit` units in any span of one window. log.ts explains the names.
--
-- State: a Redis list of entries, oldest first. An entry has 19 bytes, or 24 if it was booked ahead. Its fields:
--
-- at: the time in µs.
-- total: the running total of units.
-- till: until when a policy needs the entry, in ms.
-- lead: how far ahead it was booked, in ms.
--
-- The entry at index 0 is the base. It only carries the total before the first real entry.
--
-- Policy: limit, window (µs), merge (µs). Grants within one sub-window of `merge` share an entry. It is 1 for a log.
local log = { queue_width = 4, is_list = true }
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
    local index = call("LLEN", view.key) - 1
    return { index = index, at = view.last, total = view.total, till = view.till, leads = view.leads }
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

  -- After the clock went back: units that counted before count as spent or booked now.
  local function read_after_jump(view, reach)
    local before = around(view, function(each) return each.till end, floor(view.last / 1000) + 1)
    local spent = units_between(before.total, view.total)
    view.last = now + view.leads * 1000
    view.till = ceil((view.last + reach) / 1000)
    view.base, view.spent, view.total, view.jumped = 0, spent, spent, true
    view.first, view.repaired = 1, encode(view.last, spent, view.till, view.leads)
    view.first_value = view.repaired
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
    local before, found = around(view, function(each) return each.at end, from)
    view.first, view.base = before.index + 1, before.total
    view.first_value = found and encode(found.at, found.total, found.till, found.leads)
  end

  function log.read(policy, index)
    local view, key = policy.view, keys[index]
    local head = call("LRANGE", key, "0", "2")
    local size = #head
    view.key, view.head, view.jumped, view.granted = key, head, false, 0
    if size == 0 then
      view.first, view.first_value, view.base, view.spent = 1, nil, 0, 0
      view.last, view.leads, view.total, view.till, view.expires_at = 0, 0, 0, 0, 0
      return view
    end
    view.last, view.total, view.till, view.leads = decode(size < 3 and head[size] or call("LINDEX", key, "-1"))
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

  function log.take(policy, view, granted)
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
    view.newest = encode(at, view.total, till, view.leads)
    view.first_value = view.first_value or view.newest
  end

  -- Writes the repairs of `read` after a clock jump, and the grants.
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
        call("LSET", key, "-1", view.newest)
      else
        call("RPUSH", key, view.newest)
      end
      if view.first > 1 then prune(view) end
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
    return max(reaching(view, excess).at + policy.window - now, queue)
  end

  -- Returns the level: units spent, µs until nothing is spent, and in a denial the µs until the cost fits.
  function log.level(policy, view, is_short)
    return view.spent, view.spent > 0 and view.last + policy.window - now or 0, is_short and wait(policy, view) or nil
  end

  function log.turn(policy, view) return policy.cost > policy.limit and INFINITY or wait(policy, view) end

  function log.queue_state(view) return { view.last, view.total, view.till, view.leads } end

  -- Restores the state before the last turn, which is the newest entry.
  function log.restore(_, view, state)
    local key, at, total, till, leads = view.key, spread(state)
    local base = entry_at(key, 0).total
    -- More units were given back than were spent before the turn. Without the turn, nothing is left.
    if units_between(base, total) > units_between(base, view.total) then return call("DEL", key) end
    local before = call("LINDEX", key, -2)
    -- The turn may have been merged into the entry before it.
    if before and entry(0, before).total == total then
      call("LTRIM", key, 0, -2)
    else
      call("LSET", key, -1, encode(at, total, till, leads))
    end
    if call("LLEN", key) == 1 or till * 1000 <= now then
      call("DEL", key)
    else
      expire(key, till * 1000, 0)
    end
  end

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
    local newest = entry_at(key, -1)
    if call("LLEN", key) == 1 or newest.till * 1000 <= now then
      call("DEL", key)
    else
      expire(key, newest.till * 1000, view.expires_at)
    end
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
    if view.jumped then log.save(policy, view) end
    if debited_at >= 0 then give_oldest(policy, view) else give_newest(policy, view) end
  end
end
