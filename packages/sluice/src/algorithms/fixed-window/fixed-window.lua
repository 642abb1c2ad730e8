-- Fixed window; fixed-window.ts beside this file is its twin and says what the names mean.
-- State: a string, ">I7I7I6I5" start stop used reach.
local fixedWindow = { inString = true }
algorithms.fixedWindow = fixedWindow

local function read(terms, key)
  local start, stop, used, reach, expiresAt = now, now, 0, 0, 0
  local value = get(key)
  if value then
    start, stop, used, reach = unpack(">I7I7I6I5", value)
    expiresAt = stop
    if stop <= now then start, stop, used, reach = now, now, 0, 0 end
  end
  -- further ahead than a window reaches: the clock went back; the window counts as opened now
  local jumped = stop - now > reach * 1000 + max(terms.window, GRACE)
  if jumped then start, stop = now, now + reach * 1000 end
  local opens = start - now
  if opens < 0 or opens > reach * 1000 - terms.window then opens = 0 end
  return start, stop, used, reach, jumped, expiresAt, opens
end

local function keep(key, start, stop, used, reach, before)
  set(key, pack(">I7I7I6I5", start, stop, used, reach), stop, before)
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
  local start, stop, used, reach, jumped, before, opens = read(terms, key)
  granted = granted or opens > 0 and 0 or min(count, max(floor((terms.limit - used) / terms.cost), 0))
  if not reply then return granted end

  if spend and granted > 0 then
    stop, reach = opened(terms, start, stop, reach)
    used = used + granted * terms.cost
  end
  if spend and (granted > 0 or jumped) then keep(key, start, stop, used, reach, before) end

  reply[#reply + 1] = used
  reply[#reply + 1] = stop - now
  if granted < count then reply[#reply + 1] = opens end
  return granted
end

function fixedWindow.give(terms, key, debitedAt)
  local start, stop, used, reach, _, before, opens = read(terms, key)
  -- a debit of an earlier window is gone with it
  if debitedAt >= 0 and debitedAt < start then return end
  used = max(used - terms.cost, 0)
  if used == 0 then
    if opens == 0 then return drop(key) end
    -- nobody is left in a window that is yet to open: back to the one before it, which had no room for this
    start, stop, used = start - terms.window, start, terms.limit
  end
  keep(key, start, stop, used, reach, before)
end
