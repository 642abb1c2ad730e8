-- Looks at a plain ask: see plain.lua.
function sizes.NAME(terms)
  --@ size of a plan
end
function plain.NAME(terms, key, value, count, reply)
  --@ terms of a plan
  local from, whole = 1, value and #value == SIZE
  local text, expiresAt, before, merges, gone, first, second, third
  --@ plain
  if not text then return nil end
  local at = #reply
  --@ told of a part
  return text, expiresAt, before, merges, gone
end
