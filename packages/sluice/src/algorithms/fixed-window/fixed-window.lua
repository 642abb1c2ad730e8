-- Fixed window; fixed-window.ts beside this file is its twin and says what the names mean.
-- State: a string, ">I7I6I5" end used length.
local fixedWindow = { sent = { "limit", "window", "aligned", "cost" } }
algorithms.fixedWindow = fixedWindow

local function ownEnd(terms)
  local window = terms.window
  return terms.aligned == 1 and (math.floor(now / window) + 1) * window or now + window
end

local function keep(view, key)
  redis.call("SET", key, struct.pack(">I7I6I5", view.stop, view.used, view.length), "PX", ttl(view.stop))
end

function fixedWindow.read(terms, key)
  local value = redis.call("GET", key)
  local stop, used, length
  if value then stop, used, length = struct.unpack(">I7I6I5", value) end
  if not value or stop <= now then
    return { stop = ownEnd(terms), used = 0, length = terms.window / 1000 }
  end
  -- further ahead than a window reaches: the clock went back; the window counts as opened now
  local jumped = stop - now > 2 * length * 1000
  return { stop = jumped and now + length * 1000 or stop, used = used, length = length, jumped = jumped }
end

function fixedWindow.room(terms, view, count)
  local room = math.floor((terms.limit - view.used) / terms.cost)
  return math.min(count, math.max(room, 0))
end

function fixedWindow.take(terms, view, granted, key)
  if view.length * 1000 < terms.window then
    view.stop = math.max(view.stop, ownEnd(terms))
    view.length = terms.window / 1000
  end
  view.used = view.used + granted * terms.cost
  keep(view, key)
end

function fixedWindow.give(terms, view, key)
  view.used = math.max(view.used - terms.cost, 0)
  if view.used == 0 then redis.call("DEL", key) else keep(view, key) end
end

function fixedWindow.mend(_, view, key)
  if view.jumped then keep(view, key) end
end

function fixedWindow.tell(_, view, _, reply)
  reply[#reply + 1] = view.used
  reply[#reply + 1] = view.stop - now
end
