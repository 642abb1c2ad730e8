-- Answers plain asks that are alike in all but their keys and counts, as those of nearly all calls are: in one loop,
-- without a function or JSON, which took more than a third of a call for one ask. With the first ask that is not plain,
-- or cannot be written down, it leaves the rest to what follows.
-- ARGV     [3] the count of each ask, a byte each, or "" if all have that of the plan, which is 1 otherwise
--          [4] and on, for each part of an ask the terms that it needs, the first of them for all that it costs by the
--          plan: three or more, as no other call has
if ARGV[5] then
  --@ read
  local counts = ARGV[3] ~= "" and { byte(ARGV[3], 1, -1) }
  if #ARGV == TERMS + 3 then
    --@ terms of the call
    for i = 1, keys do
      local key, value = KEYS[i], values and values[i]
      local cost = counts and cost * counts[i] or cost
      local text, expiresAt, before, merges, gone, first, second
      --@ plain
      if not text then break end
      local failed
      --@ write
      if failed then break end
      reply[told + 1], reply[told + 2] = first, second
      told = second and told + 2 or told + 1
      used = i
    end
    asks = used
  else
    local parts = (#ARGV - 3) / TERMS
    local texts, ends, befores, merging, going = {}, {}, {}, {}, {}
    local terms = {}
    for i = 4, #ARGV do terms[i] = tonumber(ARGV[i]) end
    while used < keys do
      local at = told
      local count = counts and counts[asks + 1] or 1
      local looked = 0
      -- all are looked at before the first is written
      while looked < parts do
        local place = looked * TERMS + 3
        --@ terms of a part
        cost = cost * count
        local key, value = KEYS[used + looked + 1], values and values[used + looked + 1]
        local text, expiresAt, before, merges, gone, first, second
        --@ plain
        if not text then break end
        looked = looked + 1
        texts[looked], ends[looked], befores[looked], merging[looked], going[looked] = text, expiresAt, before, merges, gone
        reply[at + 1], reply[at + 2] = first, second
        at = second and at + 2 or at + 1
      end
      if looked < parts then break end
      local failed
      for part = 1, parts do
        local key, text, expiresAt, before, merges, gone =
          KEYS[used + part], texts[part], ends[part], befores[part], merging[part], going[part]
        --@ write
        if failed then break end
      end
      if failed then break end
      asks, used, told = asks + 1, used + parts, at
    end
    for extra = #reply, told + 1, -1 do reply[extra] = nil end
  end
  if used == keys then return reply end
end
