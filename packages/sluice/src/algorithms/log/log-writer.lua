-- Writes a plain ask down.
function writers.log(key, text, expiresAt, before, merges, gone)
  local failed
  --@ algorithms/log/log-write.lua
  if failed then error({ err = failed }) end
end
