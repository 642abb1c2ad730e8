-- Fixed window; fixed-window.ts beside this file is its twin and says what the names mean.
-- State: a string, ">I7I7I6I5" start stop used reach, and a byte more if it was booked.
local fixedWindow = {}
algorithms.fixedWindow = fixedWindow

local function read(terms, key)
  local start, stop, used, reach, booked, expiresAt = now, now, 0, 0, 0, 0
  local value = get(key)
  if value then
    start, stop, used, reach = unpack(">I7I7I6I5", value)
    booked = #value - 25
    expiresAt = stop
    if stop <= now then start, stop, used, reach, booked = now, now, 0, 0, 0 end
  end
  -- further ahead than a window reaches: the clock went back; the window counts as opened now, or as booked now
  local jumped = stop - now > reach * 1000 + max(terms.window, GRACE)
  if jumped then
    start = booked == 1 and now + reach * 1000 - (stop - start) or now
    stop = now + reach * 1000
  end
  local opens = booked == 1 and max(start - now, 0) or 0
  return start, stop, used, reach, jumped, expiresAt, opens, booked
end

local function keep(key, start, stop, used, reach, before, booked)
  local value = pack(">I7I7I6I5", start, stop, used, reach)
  set(key, booked == 1 and value .. "b" or value, stop, before)
end

-- Until when the window lasts if these terms count in it, and its reach.
local function opened(terms, start, stop, reach)
  local window = terms.window
  if terms.aligned == 1 then
    stop = max(stop, (floor(now / window) + 1) * window)
  elseif stop - start < window then
    stop = max(stop, now + window)
  end
  return stop, max(reach, ceil((window + lead) / 1000))
end

function fixedWindow.step(terms, key, count, granted, spend, reply)
  local start, stop, used, reach, jumped, before, opens, booked = read(terms, key)
  granted = granted or opens > 0 and 0 or min(count, max(floor((terms.limit - used) / terms.cost), 0))
  if not reply then return granted end

  if spend and granted > 0 then
    if lead > 0 and stop == now then booked = 1 end
    stop, reach = opened(terms, start, stop, reach)
    used = used + granted * terms.cost
  end
  if spend and (granted > 0 or jumped) then keep(key, start, stop, used, reach, before, booked) end

  reply[#reply + 1] = used
  reply[#reply + 1] = stop - now
  if granted < count then reply[#reply + 1] = opens end
  return granted
end

function fixedWindow.till(terms, key)
  local _, _, _, _, _, expiresAt = read(terms, key)
  return expiresAt
end

function fixedWindow.give(terms, key, debitedAt)
  local start, stop, used, reach, _, before, opens, booked = read(terms, key)
  -- a debit of an earlier window is gone with it
  if debitedAt >= 0 and debitedAt < start then return end
  local left = used - terms.cost
  if left <= 0 and opens > 0 then
    -- nothing is left in a window that is yet to open: the windows before it are full
    local back = min(ceil(opens / terms.window), floor(-left / terms.limit) + 1)
    left = left + back * terms.limit
    start = start - back * terms.window
    stop = start + terms.window
  end
  used = max(left, 0)
  if used == 0 and start <= now then return drop(key) end
  keep(key, start, stop, used, reach, before, booked)
end
