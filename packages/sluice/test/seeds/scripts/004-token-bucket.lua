-- KEYS prefix; ARGV capacity, refill per second, now in whole seconds, permits; returns 1 or 0
local tokens_key = KEYS[1] .. ':tokens'
local timestamp_key = KEYS[1] .. ':ts'
local capacity = tonumber(ARGV[1])
local refill_rate = tonumber(ARGV[2])
local current_time = tonumber(ARGV[3])
local requested = tonumber(ARGV[4])
local tokens = tonumber(redis.call('get', tokens_key) or capacity)
local last_refill = tonumber(redis.call('get', timestamp_key) or current_time)
local delta = current_time - last_refill
local tokens_to_add = delta * refill_rate
tokens = math.min(capacity, tokens + tokens_to_add)
if tokens < requested then
   return 0
else
   tokens = tokens - requested
   redis.call('set', tokens_key, tokens)
   redis.call('set', timestamp_key, current_time)
   return 1
end
