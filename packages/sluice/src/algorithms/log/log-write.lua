-- Adds an entry, or puts it in the place of the last, and clears those that are gone.
if merges then
  failed = try("LSET", key, "-1", text).err
else
  local length = try("RPUSH", key, text)
  failed = type(length) == "table" and length.err
end
if not failed then
  if gone > 0 then call("LPOP", key, format("%d", gone)) end
  --@ algorithms/log/log-expire.lua
end
