-- Fixed window; fixed-window.ts beside this file is its twin and says what the names mean.
-- State: a string, ">I7I7I6I5" start stop used reach.
local fixedWindow = { arity = 4, inString = true }
algorithms.fixedWindow = fixedWindow

function fixedWindow.terms(at)
  return {
    limit = ARGV[at] + 0,
    window = ARGV[at + 1] + 0,
    aligned = ARGV[at + 2] + 0,
    cost = ARGV[at + 3] + 0,
  }
end

local function keep(view, key)
  local value = pack(">I7I7I6I5", view.start, view.stop, view.used, view.reach)
  set(key, value, view.stop)
end

function fixedWindow.read(_, key)
  local value = get(key)
  local start, stop, used, reach
  if value then start, stop, used, reach = unpack(">I7I7I6I5", value) end
  if not value or stop <= now then return { start = now, stop = now, used = 0, reach = 0 } end
  -- further ahead than a window reaches: the clock went back; the window counts as opened now
  local jumped = stop - now > reach * 1000 + max(reach * 1000, GRACE)
  if jumped then return { start = now, stop = now + reach * 1000, used = used, reach = reach, jumped = true } end
  return { start = start, stop = stop, used = used, reach = reach }
end

function fixedWindow.room(terms, view, count)
  local room = floor((terms.limit - view.used) / terms.cost)
  return min(count, max(room, 0))
end

function fixedWindow.take(terms, view, granted, key)
  local window = terms.window
  if terms.aligned == 1 then
    view.stop = max(view.stop, (floor(now / window) + 1) * window)
  elseif view.stop - view.start < window then
    view.stop = max(view.stop, now + window)
  end
  view.reach = max(view.reach, window / 1000)
  view.used = view.used + granted * terms.cost
  keep(view, key)
end

function fixedWindow.give(terms, view, key)
  view.used = max(view.used - terms.cost, 0)
  if view.used == 0 then del(key) else keep(view, key) end
end

function fixedWindow.mend(_, view, key)
  if view.jumped then keep(view, key) end
end

function fixedWindow.tell(_, view, _, reply)
  reply[#reply + 1] = view.used
  reply[#reply + 1] = view.stop - now
end
