-- Answers plain asks that are alike in all but their keys, counts and costs, as those of nearly all calls are: in one loop,
-- without a function or JSON, which took more than a third of a call for one ask. With the first ask that is not plain,
-- or cannot be written down, it leaves the rest to what follows.
-- ARGV     [3] what asks differ in, or "" if in nothing but their keys: see amounts.lua. The count in the plan is 1 otherwise
--          [4] and on, for each part of an ask the terms that it needs, the first of them for all that it costs by the
--          plan: three or more, as no other call has. Where all parts have one algorithm and are in one record, which is one
--          key, before those of each its label. Where they differ in that, before those of each its algorithm and its label,
--          "" for none; there is one record at the most
if ARGV[5] then
  --@ lanes
  if used == keys then return reply end
  for extra = #reply, told + 1, -1 do reply[extra] = nil end
end
