-- What the rest of a script shares: strings, read once per key, and what there is in it by name.
local min, huge = math.min, math.huge
-- Clocks that differ by less are never taken for one that jumped.
local GRACE = 1000000
local algorithms = {}
local modes = {}
-- While a turn is booked, now is the time of the turn, and lead is how far that is ahead of the clock.
local lead = 0

-- The plan of the ask at hand, and where a part of it is kept: see record.lua.
local atHand
local function placeOf(part)
  local key, terms = KEYS[used + placesOf(atHand)[part]], atHand[part * 2 + 2]
  if not terms.label then return key end
  -- one for all asks by a plan: nobody keeps it for longer than an ask
  terms.place = terms.place or { label = terms.label }
  terms.place.record = key
  return terms.place
end

-- Modes whose asks do not look back. Those of others have one more key for each part, behind those of the parts: where it
-- is noted when that part was forgotten.
local ONLY_NOW = { spend = true, peek = true, charge = true }

-- How many keys an ask by a plan has.
local function keysOf(plan)
  local _, width = placesOf(plan)
  local moments = ONLY_NOW[plan[1]] and 0 or #plan / 2 - 1
  return width + moments + (modes[plan[1]] and modes[plan[1]].keys or 0)
end

local get

local function recordAt(key)
  records[key] = records[key] or recordOf(get(key))
  return records[key]
end

function get(key)
  if type(key) == "table" then return recordAt(key.record).states[key.label] end
  local value = strings[key] or call("GET", key)
  strings[key] = value
  return value
end

-- When a part of the ask at hand was forgotten last, less than any time if it was not; where that is noted, and until when.
local function forgottenAt(part)
  local _, width = placesOf(atHand)
  local key = KEYS[used + width + part]
  local value = strings[key]
  if value == nil then value = try("GET", key) end
  -- what is no note of ours says nothing, and is written over
  if type(value) ~= "string" or #value ~= 14 then return -1, key, 0 end
  local at, till = unpack(">I7I7", value)
  if till > 9007199254740991 then return -1, key, 0 end
  -- later than now: the clock went back
  return till > now and at <= now + GRACE and at or -1, key, till
end

-- Records with changes that are yet to be written, by key.
local changed = {}

local function change(place, state, expiresAt)
  local record = recordAt(place.record)
  record.states[place.label], record.ends[place.label] = state, expiresAt
  changed[place.record] = record
end

-- Writes what may be read again in this call; what is in a record, at the end of an ask.
local function set(key, value, expiresAt, before)
  if type(key) == "table" then return change(key, value, expiresAt) end
  write(key, value, expiresAt, before)
  strings[key] = value
end

local function drop(key)
  if type(key) == "table" then return change(key, nil, 0) end
  call("DEL", key)
  strings[key] = false
end

local function writeChanged()
  for place, labels in pairs(labelsOf(atHand)) do
    local key = KEYS[used + place]
    local record = changed[key]
    if record then
      local before = record.till
      local text, till = textOf(record, labels)
      if text ~= "" then set(key, text, till, before) elseif before > 0 then drop(key) end
      changed[key] = nil
    end
  end
end
