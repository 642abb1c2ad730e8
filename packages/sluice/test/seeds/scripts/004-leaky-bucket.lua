-- KEYS prefix; ARGV capacity, leak per second, now in whole seconds; returns 1 or 0
local level_key = KEYS[1] .. ':level'
local timestamp_key = KEYS[1] .. ':ts'
local capacity = tonumber(ARGV[1])
local leak_rate = tonumber(ARGV[2])
local current_time = tonumber(ARGV[3])
local level = tonumber(redis.call('get', level_key) or '0')
local last_time = tonumber(redis.call('get', timestamp_key) or current_time)
local delta = current_time - last_time
local leaked = delta * leak_rate
level = math.max(0, level - leaked)
if level + 1 > capacity then
   return 0
else
   level = level + 1
   redis.call('set', level_key, level)
   redis.call('set', timestamp_key, current_time)
   return 1
end
