-- Fixed window; fixed-window.ts beside this file is its twin and says what the names mean.
-- State: a string, ">I7I7I6I5" start stop used reach.
local fixedWindow = { inString = true }
algorithms.fixedWindow = fixedWindow

local function read(key)
  local start, stop, used, reach, expiresAt = now, now, 0, 0, 0
  local value = get(key)
  if value then
    start, stop, used, reach = unpack(">I7I7I6I5", value)
    expiresAt = stop
    if stop <= now then start, stop, used, reach = now, now, 0, 0 end
  end
  -- further ahead than a window reaches: the clock went back; the window counts as opened now
  local jumped = stop - now > reach * 1000 + max(reach * 1000, GRACE)
  if jumped then start, stop = now, now + reach * 1000 end
  return start, stop, used, reach, jumped, expiresAt
end

function fixedWindow.step(terms, key, count, granted, spend, reply)
  local start, stop, used, reach, jumped, before = read(key)
  granted = granted or min(count, max(floor((terms.limit - used) / terms.cost), 0))
  if not reply then return granted end

  if spend and granted > 0 then
    local window = terms.window
    if terms.aligned == 1 then
      stop = max(stop, (floor(now / window) + 1) * window)
    elseif stop - start < window then
      stop = max(stop, now + window)
    end
    reach = max(reach, window / 1000)
    used = used + granted * terms.cost
  end
  if spend and (granted > 0 or jumped) then
    set(key, pack(">I7I7I6I5", start, stop, used, reach), stop, before)
  end

  reply[#reply + 1] = used
  reply[#reply + 1] = stop - now
  return granted
end

function fixedWindow.give(terms, key, debitedAt)
  local start, stop, used, reach, _, before = read(key)
  -- a debit of an earlier window is gone with it
  if debitedAt >= 0 and debitedAt < start then return end
  used = max(used - terms.cost, 0)
  if used == 0 then
    call("DEL", key)
    strings[key] = nil
  else
    set(key, pack(">I7I7I6I5", start, stop, used, reach), stop, before)
  end
end
