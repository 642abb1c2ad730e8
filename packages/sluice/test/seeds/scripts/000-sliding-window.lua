-- KEYS hash; ARGV limit, window in seconds, now in seconds, buckets; returns 1 or 0
local key = KEYS[1]
local limit = tonumber(ARGV[1])
local window = tonumber(ARGV[2])
local now = tonumber(ARGV[3])
local granularity = tonumber(ARGV[4])
local bucket_size = window / granularity
if bucket_size < 1 then bucket_size = 1 end
local oldest_bucket_to_keep = now - window
local buckets = redis.call("HGETALL", key)
for i = 1, #buckets, 2 do
  local bucket_ts = tonumber(buckets[i])
  if bucket_ts < oldest_bucket_to_keep then
    redis.call("HDEL", key, buckets[i])
  end
end
local current_count = 0
local current_buckets = redis.call("HVALS", key)
for _, count in ipairs(current_buckets) do
  current_count = current_count + tonumber(count)
end
if current_count < limit then
  local current_bucket = math.floor(now / bucket_size) * bucket_size
  redis.call("HINCRBY", key, tostring(current_bucket), 1)
  redis.call("EXPIRE", key, window * 2)
  return 1
else
  return 0
end
