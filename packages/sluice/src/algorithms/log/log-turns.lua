-- Turns and debt of a log; log.ts is the twin of this too.

function log.turn(terms, key)
  local view = read(terms, key)
  if view.jumped then mend(view, key) end
  return terms.cost > terms.limit and huge or wait(terms, view, key)
end

log.lineWidth = 4

function log.line(terms, key)
  local view = read(terms, key)
  return { view.last, view.sum, view.till, view.leads }
end

function log.restore(_, key, line)
  local at, sum, till, leads = spread(line)
  local base = entryAt(key, 0).sum
  -- more was given back than had been spent before the turn: nothing is left without it
  if units(sum, base) > units(entryAt(key, -1).sum, base) then return call("DEL", key) end
  local before = call("LINDEX", key, -2)
  -- the last turn may have been merged into the entry before it
  if before and entry(0, before).sum == sum then
    call("LTRIM", key, 0, -2)
  else
    call("LSET", key, -1, packed(at, sum, till, leads))
  end
  if call("LLEN", key) == 1 or till * 1000 <= now then
    call("DEL", key)
  else
    expire(key, till * 1000, 0)
  end
end

local function at(terms, cost) return { limit = terms.limit, window = terms.window, merge = terms.merge, cost = cost } end

function log.charge(terms, key, maxWait, reply)
  local one = at(terms, 1)
  local view = read(one, key)
  if view.jumped then mend(view, key) end
  -- what fits is spent now, the rest at the turn that it would have had
  local fits = room(one, view, terms.cost)
  if fits > 0 then take(one, view, fits, key) end
  local owed = at(terms, min(terms.cost - fits, terms.limit))
  if owed.cost > 0 then
    local later = wait(owed, read(owed, key), key)
    if later <= maxWait + terms.window then
      now, lead = now + later, later
      take(owed, read(owed, key), 1, key)
      now, lead = now - later, 0
    end
  end
  view = read(one, key)
  reply[#reply + 1] = view.total
  reply[#reply + 1] = view.total > 0 and view.last + terms.window - now or 0
  reply[#reply + 1] = wait(one, view, key)
  return fits == terms.cost and 1 or 0
end
