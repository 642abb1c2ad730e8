-- Records: what is kept of the policies of a limiter that have names, for one key. A string of blocks, one of the policies
-- of the ask that wrote it last, so that the lane finds there all it looks for, and one of all others, if there are any.
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

-- The record as a string, which is empty if nothing is in it, and until when it matters.
local function textOf(record, plan)
  local text, till, labels, seen = "", 0, {}, {}
  local function add(block)
    local ends, head, states = 0, "", ""
    for _, label in ipairs(block) do
      local state = record.states[label]
      if state and not seen[label] then
        seen[label] = true
        labels[#labels + 1] = label
        ends = max(ends, record.ends[label])
        head, states = head .. pack("Bc0B", #label, label, #state), states .. state
      end
    end
    if head ~= "" then text = text .. pack(">I7", ends) .. head .. "\0" .. states end
    till = max(till, ends)
  end
  local own = {}
  for part = 4, #plan, 2 do own[#own + 1] = plan[part].label end
  add(own)
  add(record.labels)
  record.labels, record.till = labels, till
  return text, till
end
