-- Writes a plain ask down: see plain.lua.
function writers.NAME(key, text, expiresAt, before, merges, gone)
  local failed
  --@ write
  if failed then error({ err = failed }) end
end
