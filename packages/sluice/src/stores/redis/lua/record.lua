-- Records: what is kept of the policies of a limiter that have names, for one key. A string of blocks: one of the policies
-- of the ask that wrote it last, so that the lane finds there all it looks for, and those of all others, by how long they
-- matter, the longest first; what no longer does is left out by whoever puts a record together.
-- A block is ">I7" until when any of it matters; a head, for each policy a byte with the length of its label, the label and
-- a byte with the length of its state, then a 0; and the states in the same order.
-- A part is kept under its key, or, if it has a label, under a table of the key of its record and the label.
local records = {}

-- What a string says: the labels, and by label the state and until when it matters, at the latest.
local function recordOf(value)
  local record = { labels = {}, states = {}, ends = {}, till = 0 }
  local at = 1
  while value and at <= #value do
    local till = unpack(">I7", value, at)
    local block, sizes = {}, {}
    at = at + 7
    while byte(value, at) ~= 0 do
      block[#block + 1], sizes[#sizes + 1], at = unpack("Bc0B", value, at)
    end
    at = at + 1
    for i, label in ipairs(block) do
      record.labels[#record.labels + 1] = label
      record.states[label], record.ends[label] = sub(value, at, at + sizes[i] - 1), till
      at = at + sizes[i]
    end
    record.till = max(record.till, till)
  end
  return record
end

local function blockOf(record, labels, till)
  local head, states = "", ""
  for _, label in ipairs(labels) do
    local state = record.states[label]
    head, states = head .. pack("Bc0B", #label, label, #state), states .. state
  end
  return pack(">I7", till) .. head .. "\0" .. states
end

-- The record as a string, which is empty if nothing is in it, and until when it matters; the labels given come first.
local function textOf(record, first)
  local own, isOwn, till = {}, {}, 0
  for _, label in ipairs(first) do
    if record.states[label] and not isOwn[label] then
      own[#own + 1], isOwn[label] = label, true
      till = max(till, record.ends[label])
    end
  end
  local text = #own > 0 and blockOf(record, own, till) or ""
  local labels, tills, byTill = own, {}, {}
  for _, label in ipairs(record.labels) do
    local ends = record.ends[label]
    if record.states[label] and not isOwn[label] and ends + LEFT_OUT > reply[1] then
      if not byTill[ends] then
        tills[#tills + 1], byTill[ends] = ends, {}
      end
      table.insert(byTill[ends], label)
      labels[#labels + 1] = label
    end
  end
  table.sort(tills, function(a, b) return a > b end)
  for _, ends in ipairs(tills) do text = text .. blockOf(record, byTill[ends], ends) end
  record.labels, record.till = labels, max(till, tills[1] or 0)
  return text, record.till
end
