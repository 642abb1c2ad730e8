-- A window that nobody has booked and no other policy stretches, or none yet, that has room; `step` in fixed-window.lua is
-- what it is a short form of.
function plain.fixedWindow(terms, _, value, count, reply)
  local window = terms.window
  local start, stop, used, reach, before = now, now, 0, 0, 0
  if value and #value == 25 then
    start, stop, used, reach = unpack(">I7I7I6I5", value)
    before = stop
    if stop <= now then start, stop, used, reach = now, now, 0, 0 end
  elseif value or not fresh then
    return nil
  end
  local ends = terms.aligned == 1 and (floor(now / window) + 1) * window or start + window
  if stop == now then stop = ends end
  -- a window that has begun and ends when it should is not of a clock that has jumped
  used = used + count * terms.cost
  if start > now or stop ~= ends or used > terms.limit then return nil end
  local last = #reply
  reply[last + 1] = used
  reply[last + 2] = stop - now
  return pack(">I7I7I6I5", start, stop, used, max(reach, ceil(window / 1000))), stop, before
end

writers.fixedWindow = write
