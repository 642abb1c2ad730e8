-- Reads the strings under the names at once: values, and whether those without one are fresh.
if #names == 1 then
  -- a lone key is read by a command that complains of what is no string
  local value = try("GET", names[1])
  fresh = value == false
  values = { type(value) == "string" and value }
else
  values = call("MGET", spread(names))
  local absent
  for i = 1, #names do
    if not values[i] then
      absent = absent or {}
      absent[#absent + 1] = names[i]
    end
  end
  fresh = absent and try("EXISTS", spread(absent)) == 0
end
