-- Reports: what each process publishes about itself. They are in one hash by process. A sorted set has their expiry times in ms. It runs
-- as a script of its own.
-- keys: the hash, the sorted set.
-- args to read: "read".
-- args to publish: "publish", the process, its report ("" removes it), for how many ms it stays, how many reports there may be.
-- Returns to "read": processes and their reports in turn. To "publish": 1, or 0 if there are too many processes.

local call = redis.call
local reports, expiry = KEYS[1], KEYS[2]
local time = call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)

if ARGV[1] == "read" then
  local live, reply = call("ZRANGEBYSCORE", expiry, string.format("(%.0f", now), "+inf"), {}
  local found = #live > 0 and call("HMGET", reports, unpack(live)) or {}
  for i = 1, #live do reply[2 * i - 1], reply[2 * i] = live[i], found[i] or "" end
  return reply
end

local process, report, lasts, most = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local gone = call("ZRANGEBYSCORE", expiry, "-inf", string.format("%.0f", now))
if report == "" then gone[#gone + 1] = process end
for _, each in ipairs(gone) do
  call("HDEL", reports, each)
  call("ZREM", expiry, each)
end
if report == "" then return 1 end
if not call("ZSCORE", expiry, process) and call("ZCARD", expiry) >= most then return 0 end
call("HSET", reports, process, report)
call("ZADD", expiry, string.format("%.0f", now + lasts), process)
for _, key in ipairs(KEYS) do
  if call("PTTL", key) < lasts then call("PEXPIRE", key, string.format("%.0f", lasts)) end
end
return 1
