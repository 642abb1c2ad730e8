-- KEYS hash; ARGV capacity, leak per second, now in seconds with fractions; returns 1 or 0
local key = KEYS[1]
local capacity = tonumber(ARGV[1])
local rate = tonumber(ARGV[2])
local now = tonumber(ARGV[3])
local bucket_info = redis.call("HMGET", key, "level", "last_leak_ts")
local level = tonumber(bucket_info[1])
local last_leak_ts = tonumber(bucket_info[2])
if level == nil then
  level = 0
  last_leak_ts = now
else
  local delta = math.max(0, now - last_leak_ts)
  local leaked_requests = delta * rate
  level = math.max(0, level - leaked_requests)
  last_leak_ts = now
end
local allowed = 0
if level < capacity then
  level = level + 1
  allowed = 1
end
redis.call("HMSET", key, "level", level, "last_leak_ts", last_leak_ts)
redis.call("EXPIRE", key, math.ceil(capacity / rate) * 2)
return allowed
