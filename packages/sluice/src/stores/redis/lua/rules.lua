-- Rules: one hash with a field per rule, and a list of the latest changes. It runs as a script of its own.
-- keys: the hash, the list.
-- args to read: "read", the epoch and the version that the caller knows.
-- args to write: "write", an epoch for a new hash, how many rules there may be, how many changes are kept; then for each change the
--       field, its value ("" removes it), and what the list says of it.
-- args for the list: "history", how many.
-- Returns to "read": the time in ms, the epoch, the version, 1 if everything follows or 0 if changes follow, then fields and values, or
-- entries of the list, newest first. To "write": the version, or -1 if there are too many rules. To "history": entries, newest first.

local call = redis.call
local action = ARGV[1]

if action == "history" then return call("LRANGE", KEYS[2], 0, ARGV[2] - 1) end

local time = call("TIME")
local now = string.format("%.0f", time[1] * 1000 + math.floor(time[2] / 1000))
local version = tonumber(call("HGET", KEYS[1], "version") or 0)
local epoch = call("HGET", KEYS[1], "epoch") or ""

if action == "read" then
  local behind = epoch == ARGV[2] and version - ARGV[3] or -1
  if behind == 0 then return { now, epoch, version, 0 } end
  local reply = { now, epoch, version, 0 }
  local entries = {}
  if behind > 0 then entries = call("LRANGE", KEYS[2], 0, behind - 1) end
  if #entries == 0 or #entries < behind then
    reply[4], entries = 1, call("HGETALL", KEYS[1])
  end
  for i = 1, #entries do reply[4 + i] = entries[i] end
  return reply
end

if epoch == "" then call("HSET", KEYS[1], "epoch", ARGV[2]) end
if call("HLEN", KEYS[1]) + (#ARGV - 4) / 3 > ARGV[3] + 2 then return -1 end
for i = 5, #ARGV, 3 do
  version = version + 1
  if ARGV[i + 1] == "" then call("HDEL", KEYS[1], ARGV[i]) else call("HSET", KEYS[1], ARGV[i], ARGV[i + 1]) end
  call("LPUSH", KEYS[2], string.format("%d %s %s", version, now, ARGV[i + 2]))
end
call("HSET", KEYS[1], "version", version)
call("LTRIM", KEYS[2], 0, ARGV[4] - 1)
return version
