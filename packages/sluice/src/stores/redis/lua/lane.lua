-- Answers plain asks that are alike in all but their keys, under one policy each, as those of nearly all calls are: in one
-- loop, without a function or JSON, which would cost a call for one ask more than everything else does. With the first
-- ask that is not plain, or cannot be written down, it leaves the rest to what follows.
-- ARGV     [3] and on, the terms that they need, of all that one costs; at least three, as no other call has
if ARGV[5] then
  --@ terms of the call
  --@ read
  for i = 1, keys do
    local key, value = KEYS[i], values and values[i]
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
  if used == keys then return reply end
  asks = used
end
