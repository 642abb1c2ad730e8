-- Reads the strings of all keys at once: values, and whether those without one are fresh.
if keys == 1 then
  -- a lone key is read by a command that complains of what is no string
  local value = try("GET", KEYS[1])
  fresh = value == false
  values = { type(value) == "string" and value }
else
  values = call("MGET", spread(KEYS))
  local absent
  for i = 1, keys do
    if not values[i] then
      absent = absent or {}
      absent[#absent + 1] = KEYS[i]
    end
  end
  fresh = absent and try("EXISTS", spread(absent)) == 0
end
