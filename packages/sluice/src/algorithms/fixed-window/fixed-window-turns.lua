-- Turns and debt of a fixed window; fixed-window.ts is the twin of this too.

-- Puts in place what a clock that went back has left.
local function mended(terms, key)
  local start, stop, used, reach, jumped, before, opens = read(terms, key)
  if jumped then keep(key, start, stop, used, reach, before) end
  return start, stop, used, reach, before, opens
end

function fixedWindow.turn(terms, key)
  local _, stop, used, _, _, opens = mended(terms, key)
  if terms.cost > terms.limit then return huge end
  return used + terms.cost > terms.limit and stop - now or opens
end

function fixedWindow.mark(terms, key)
  local _, stop = read(terms, key)
  return stop
end

function fixedWindow.charge(terms, key, maxWait, reply)
  local start, stop, used, reach, before, opens = mended(terms, key)
  local fits = opens == 0 and used + terms.cost <= terms.limit and 1 or 0
  stop, reach = opened(terms, start, stop, reach)
  local total = used + terms.cost
  if total <= terms.limit then
    used = total
  elseif stop - now <= maxWait + terms.window then
    start, stop, used = stop, stop + terms.window, min(total - terms.limit, terms.limit)
    reach = max(reach, ceil((stop - now) / 1000))
    opens = start - now
  else
    used = max(used, terms.limit)
  end
  keep(key, start, stop, used, reach, before)
  reply[#reply + 1] = used
  reply[#reply + 1] = stop - now
  reply[#reply + 1] = opens
  return fits
end
