-- A window that nobody has booked and no other policy stretches, or none yet, that has room; `step` in fixed-window.lua is
-- what it is a short form of.
local start, stop, used, reach = now, now, 0, 0
before = 0
if whole then
  start, stop, used, reach = unpack(">I7I7I6I5", value, from)
  before = stop
  if stop <= now then start, stop, used, reach = now, now, 0, 0 end
end
local ends = aligned == 1 and now - now % window + window or start + window
if stop == now then stop = ends end
used = used + cost
-- a window that has begun and ends when it should is not of a clock that has jumped
if used <= limit and start <= now and stop == ends and (before > 0 or fresh and not value) then
  first, second = used, stop - now
  expiresAt = stop
  if reach < window / 1000 then reach = window / 1000 end
  text = pack(">I7I7I6I5", start, stop, used, reach)
end
