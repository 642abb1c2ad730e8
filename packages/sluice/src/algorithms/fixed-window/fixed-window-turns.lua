-- Turns and debt of a fixed window; fixed-window.ts is the twin of this too.

-- Puts in place what a clock that went back has left.
local function mended(terms, key)
  local start, stop, used, reach, jumped, before, opens, booked = read(terms, key)
  if jumped then keep(key, start, stop, used, reach, before, booked) end
  return start, stop, used, reach, before, opens, booked
end

function fixedWindow.turn(terms, key)
  local _, stop, used, _, _, opens = mended(terms, key)
  if terms.cost > terms.limit then return huge end
  return used + terms.cost > terms.limit and stop - now or opens
end

fixedWindow.lineWidth = 4

function fixedWindow.line(terms, key)
  local start, stop, used, _, _, _, _, booked = read(terms, key)
  return { start, stop, used, booked }
end

function fixedWindow.restore(terms, key, line)
  local start, stop, used, booked = spread(line)
  if stop <= now then return drop(key) end
  local _, _, _, reach, _, before = read(terms, key)
  keep(key, start, stop, used, reach, before, booked)
end

function fixedWindow.charge(terms, key, maxWait, reply)
  local start, stop, used, reach, before, opens, booked = mended(terms, key)
  local fits = opens == 0 and used + terms.cost <= terms.limit and 1 or 0
  stop, reach = opened(terms, start, stop, reach)
  local total = used + terms.cost
  if total <= terms.limit then
    used = total
  elseif stop - now <= maxWait + terms.window then
    start, stop, used = stop, stop + terms.window, min(total - terms.limit, terms.limit)
    reach = max(reach, ceil((stop - now) / 1000))
    opens, booked = start - now, 1
  else
    used = max(used, terms.limit)
  end
  keep(key, start, stop, used, reach, before, booked)
  reply[#reply + 1] = used
  reply[#reply + 1] = stop - now
  reply[#reply + 1] = opens
  return fits
end
