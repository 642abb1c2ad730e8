-- Adds an entry, or puts it in the place of the last, and clears those that are gone.
if merges then
  failed = try("LSET", key, "-1", text).err
else
  local length = try("RPUSH", key, text)
  failed = type(length) == "table" and length.err
end
if not failed and gone > 0 then failed = try("LPOP", key, format("%d", gone)).err end
if not failed then
  --@ algorithms/log/log-expire.lua
end
