-- What the rest of a script shares: strings, read once per key, and what there is in it by name.
local min, huge, sub = math.min, math.huge, string.sub
-- Clocks that differ by less are never taken for one that jumped.
local GRACE = 1000000
local algorithms = {}
local modes = {}
-- While a turn is booked, now is the time of the turn, and lead is how far that is ahead of the clock.
local lead = 0

-- Strings by key, as they stand in this call; false is a key that may hold something else.
local strings = {}

local function drop(key)
  call("DEL", key)
  strings[key] = nil
end

local function get(key)
  local value = strings[key] or call("GET", key)
  strings[key] = value
  return value
end

-- The same for a key that may be read again in this call.
local function set(key, value, expiresAt, before)
  write(key, value, expiresAt, before)
  strings[key] = value
end
