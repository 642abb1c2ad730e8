-- KEYS hash; ARGV capacity, refill per second, now in seconds with fractions; returns 1 or 0
local key = KEYS[1]
local capacity = tonumber(ARGV[1])
local rate = tonumber(ARGV[2])
local now = tonumber(ARGV[3])
local bucket_info = redis.call("HMGET", key, "tokens", "last_refill_ts")
local tokens = tonumber(bucket_info[1])
local last_refill_ts = tonumber(bucket_info[2])
if tokens == nil then
  tokens = capacity
  last_refill_ts = now
else
  local delta = math.max(0, now - last_refill_ts)
  local new_tokens = delta * rate
  tokens = math.min(capacity, tokens + new_tokens)
  last_refill_ts = now
end
local allowed = 0
if tokens >= 1 then
  tokens = tokens - 1
  allowed = 1
end
redis.call("HMSET", key, "tokens", tokens, "last_refill_ts", last_refill_ts)
redis.call("EXPIRE", key, math.ceil(capacity / rate) * 2)
return allowed
