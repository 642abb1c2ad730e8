-- Answers plain asks that are alike in all but their keys and counts, as those of nearly all calls are: in one loop,
-- without a function or JSON, which took more than a third of a call for one ask. With the first ask that is not plain,
-- or cannot be written down, it leaves the rest to what follows.
-- ARGV     [3] the count of each ask, a byte each, or "" if all have that of the plan, which is 1 otherwise
--          [4] and on, for each part of an ask the terms that it needs, the first of them for all that it costs by the
--          plan: three or more, as no other call has; before those of a part in a record, its label;
--          all parts of such an ask are in one record, and it has one key
if ARGV[5] then
  local counts = ARGV[3] ~= "" and { byte(ARGV[3], 1, -1) }
  if #ARGV == TERMS + 3 then
    --@ read
    --@ terms of the call
    for i = 1, keys do
      local key, value = KEYS[i], values and values[i]
      local from, whole = 1, value and #value == SIZE
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
    --@ several
    for extra = #reply, told + 1, -1 do reply[extra] = nil end
  end
  if used == keys then return reply end
end
