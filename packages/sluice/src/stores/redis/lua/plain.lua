-- Answers plain asks, which nearly all are, before anything else is as much as defined: spends under policies that have
-- room and nothing unusual about them. In plain is, by algorithm, a function of the terms, the key,
-- its value, the count and the reply. It returns nil unless the ask is plain; else it appends the level to the reply and
-- returns what its writer is to be given behind the key, at most five values. Nothing is written before all parts of an
-- ask have been looked at.
-- KEYS     for each ask, one key per part of its plan, in order, but none for a part that is in the record of one before
--          it; then one for each part if the mode looks back, and one more for some modes: see state.lua, modes.lua
-- ARGV     [1] now (see clock.lua)
--          [2] the plans, as JSON: each [mode, count, algorithm, terms, algorithm, terms, …], an algorithm and its
--          terms for each part; the mode is spend, peek, give, forget or one of those in modes.lua; a give has the
--          moment of the debit in place of the count, -1 for none
--          [3] the plan number of each ask, as JSON, or "" if there is one plan
--          [4] anything if a key may come twice
--          Of plain asks that are alike in all but their keys, counts and costs, in place of [3] and [4] what they differ in
--          and their terms: see lane.lua
-- Returns  now, then for each ask the integers of the levels of its parts; if fewer than count were granted, the first
--          of them is -1 - itself and the number granted comes last, unless the count is 1. 0 for a give or forget.
--          For an ask that failed, what was wrong, in an array, while the others go on.
local plans = cjson.decode(ARGV[2])
local numbers = ARGV[3] ~= "" and not ARGV[5] and cjson.decode(ARGV[3])
-- Strings by key, as they stand in this call, if a key may come twice or an ask was not plain; false is a key that is known to
-- hold none, or not known to hold one.
local strings = written or {}
local mayComeTwice = written or ARGV[4] and not ARGV[5]
-- What has been made of records, by key: see record.lua.
local records = {}

-- The terms of a cost of so many units, by those of one.
local function priced(terms, units)
  local own = {}
  for name, value in pairs(terms) do own[name] = value end
  local pieces = units * (terms.cost * (terms.parts or 1) + (terms.costPart or 0))
  own.costPart = terms.parts and pieces % terms.parts
  own.cost = (pieces - (own.costPart or 0)) / (terms.parts or 1)
  return own
end

-- What the lane has left of asks that differ: a plan for each count, which is its number, or for each ask.
if counts then
  numbers = {}
  for ask = asks + 1, #counts do
    local number = costs and ask + 1 or counts[ask]
    numbers[ask] = number
    if not plans[number] then
      local plan = { spread(plans[1]) }
      local parts = #plan / 2 - 1
      plan[2] = counts[ask]
      for part = 1, costs and parts or 0 do
        plan[part * 2 + 2] = priced(plan[part * 2 + 2], costs[(ask - 1) * parts + part])
      end
      plans[number] = plan
    end
  end
end

local function readValues()
  --@ read
end

-- Drops what was told of the ask at hand.
local function takeBackReply()
  for extra = #reply, told + 1, -1 do reply[extra] = nil end
end

-- Where the key of each part of a plan is among those of an ask, and how many there are: a part in the record of one
-- before it, which `with` tells, has none of its own.
local function placesOf(plan)
  if plan.places then return plan.places, plan.width end
  local places, width = {}, 0
  for part = 4, #plan, 2 do
    local with = plan[part].with
    if not with then width = width + 1 end
    places[#places + 1] = with and places[with] or width
  end
  plan.places, plan.width = places, width
  return places, width
end

-- By part of a plan, the block of a record that it is plain in, if it is in one: see record.lua.
local function blocksOf(plan)
  local blocks = {}
  for part = 1, #plan / 2 - 1 do
    local terms, size = plan[part * 2 + 2], sizes[plan[part * 2 + 1]]
    if terms.label then
      size = size(terms)
      local block = blocks[terms.with] or { head = "\0", size = 0, text = "", ends = 0 }
      block.head = sub(block.head, 1, -2) .. pack("Bc0B", #terms.label, terms.label, size) .. "\0"
      terms.before, terms.size = block.size, size
      block.size, block.last = block.size + size, part
      blocks[part] = block
    end
  end
  return blocks
end

-- What is known of a part: the string under its key, or its state in the record there; nothing plain if that has another head.
local function stateOf(value, block, terms)
  if not block or not value then return value end
  local from = 8 + #block.head
  local size = from + block.size - 1
  if #value ~= size and #value <= size + 7 or sub(value, 8, from - 1) ~= block.head then return "" end
  from = from + terms.before
  return sub(value, from, from + terms.size - 1)
end

local function spendPlain()
  if not values then readValues() end
  local known = values or {}
  local plan, parts, count, first, terms, writeFirst, places, width, blocks
  -- what the looks at the parts of an ask returned, side by side, five to a part: a table for each would be made anew
  local looked = {}
  while used < keys do
    local own = plans[numbers and numbers[asks + 1] or 1]
    if own ~= plan then
      if own[1] ~= "spend" then return end
      for part = 3, #own, 2 do
        if not plain[own[part]] then return end
      end
      plan, parts, count = own, #own / 2 - 1, own[2]
      first, terms, writeFirst = plain[own[3]], own[4], writers[own[3]]
      places, width = placesOf(own)
      blocks = blocksOf(own)
    end
    told = #reply
    if parts == 1 and not blocks[1] then
      local key, value = KEYS[used + 1], known[used + 1]
      if mayComeTwice and strings[key] ~= nil then value = strings[key] end
      local a, b, c, d, e = first(terms, key, value, count, reply)
      if not a then return end
      writeFirst(key, a, b, c, d, e)
      if mayComeTwice then strings[key] = a end
    else
      for part = 1, parts do
        local i, n, own = used + places[part], part * 5, plan[part * 2 + 2]
        if mayComeTwice and strings[KEYS[i]] ~= nil then known[i] = strings[KEYS[i]] end
        local value = stateOf(known[i], blocks[part], own)
        local a, b, c, d, e = plain[plan[part * 2 + 1]](own, KEYS[i], value, count, reply)
        if not a then return takeBackReply() end
        looked[n], looked[n + 1], looked[n + 2], looked[n + 3], looked[n + 4] = a, b, c, d, e
      end
      for part = 1, parts do
        local i, n, block = used + places[part], part * 5, blocks[part]
        if not block then
          writers[plan[part * 2 + 1]](KEYS[i], looked[n], looked[n + 1], looked[n + 2], looked[n + 3], looked[n + 4])
          if mayComeTwice then strings[KEYS[i]] = looked[n] end
        else
          block.text, block.ends = block.text .. looked[n], max(block.ends, looked[n + 1])
          if part == block.last then
            local record, ends = known[i], block.ends
            local before = record and unpack(">I7", record) or 0
            local rest = record and sub(record, 8 + #block.head + block.size) or ""
            local till = rest ~= "" and unpack(">I7", rest) or 0
            if till + LEFT_OUT <= now then rest = "" end
            local text = pack(">I7", ends) .. block.head .. block.text .. rest
            block.text, block.ends = "", 0
            write(KEYS[i], text, rest ~= "" and max(ends, till) or ends, max(before, till))
            if mayComeTwice then strings[KEYS[i]], records[KEYS[i]] = text, nil end
          end
        end
      end
    end
    asks, used = asks + 1, used + width
  end
end

-- Answers plain asks from the one at hand on, up to the first that is not.
local function answerPlain()
  told = #reply
  -- what goes wrong here does so again below, where it is somebody's
  if not pcall(spendPlain) then takeBackReply() end
end

-- what the lane has left is not plain, as far as it has come
if not ARGV[5] and plans[1][1] == "spend" then
  answerPlain()
  if used == keys then return reply end
end
