-- Records: what is kept of the policies of a limiter that have names, for one key. A string of blocks: one of the policies
-- of the ask that wrote it last, so that the lane finds there all it looks for, and those of all others, by how long they
-- matter, the longest first; what no longer does is left out by whoever puts a record together.
-- A block is ">I7" until when any of it matters; a head, for each policy a byte with the length of its label, the label and
-- a byte with the length of its state, then a 0; and the states in the same order.
-- A part is kept under its key, or, if it has a label, under a table of the key of its record and the label.

-- What a string says: the labels, and by label the state and until when it matters, at the latest.
local function recordOf(value)
  local labels, states, ends = {}, {}, {}
  local last, at = 0, 1
  while value and at <= #value do
    local till, sizes, before = unpack(">I7", value, at), {}, #labels
    at = at + 7
    while byte(value, at) ~= 0 do
      labels[#labels + 1], sizes[#sizes + 1], at = unpack("Bc0B", value, at)
    end
    at = at + 1
    for i = 1, #sizes do
      local label = labels[before + i]
      states[label], ends[label] = sub(value, at, at + sizes[i] - 1), till
      at = at + sizes[i]
    end
    last = max(last, till)
  end
  return { labels = labels, states = states, ends = ends, till = last }
end

-- By place of a plan that is a record, the labels of its parts there, in order and each under itself.
local function labelsOf(plan)
  if plan.labels then return plan.labels end
  plan.labels = {}
  for part, place in ipairs(placesOf(plan)) do
    local label, labels = plan[part * 2 + 2].label, plan.labels[place] or {}
    if label then
      labels[#labels + 1], labels[label], plan.labels[place] = label, label, labels
    end
  end
  return plan.labels
end

-- What there is of these labels, and until when it matters.
local function blockOf(record, labels)
  local head, states, till = "", "", 0
  for _, label in ipairs(labels) do
    local state = record.states[label]
    if state then
      head, states = head .. pack("Bc0B", #label, label, #state), states .. state
      till = max(till, record.ends[label])
    end
  end
  if head == "" then return "", 0 end
  return pack(">I7", till) .. head .. "\0" .. states, till
end

-- The record as a string, which is empty if nothing is in it, and until when it matters; the labels given come first.
local function textOf(record, own)
  local text, till = blockOf(record, own)
  local labels, tills, byTill = own, {}, {}
  for _, label in ipairs(record.labels) do
    local ends = record.ends[label]
    if record.states[label] and not own[label] and ends + LEFT_OUT > reply[1] then
      if labels == own then labels = { spread(own) } end
      if not byTill[ends] then
        tills[#tills + 1], byTill[ends] = ends, {}
      end
      table.insert(byTill[ends], label)
      labels[#labels + 1] = label
    end
  end
  if #tills > 1 then table.sort(tills, function(a, b) return a > b end) end
  for _, ends in ipairs(tills) do text = text .. blockOf(record, byTill[ends]) end
  record.labels, record.till = labels, max(till, tills[1] or 0)
  return text, record.till
end
