-- KEYS hash; ARGV capacity, leak per second, permits; returns {allowed, remaining, wait in ms}
local key = KEYS[1]
local capacity = tonumber(ARGV[1])
local rate = tonumber(ARGV[2])
local permits = tonumber(ARGV[3])
if capacity == nil or capacity <= 0 then
  return {0, 0, 1000}
end
if rate == nil or rate <= 0 then
  return {0, 0, 1000}
end
if permits == nil or permits <= 0 then
  permits = 1
end
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local last_drip = tonumber(redis.call('HGET', key, 'last_drip_ms'))
local water = tonumber(redis.call('HGET', key, 'water'))
if last_drip == nil then last_drip = now end
if water == nil then water = 0 end
if now > last_drip then
  local deltaSec = (now - last_drip) / 1000.0
  local leaked = deltaSec * rate
  water = water - leaked
  if water < 0 then water = 0 end
  last_drip = now
end
local allowed = 0
local waitMs = 0
if (water + permits) <= capacity then
  water = water + permits
  allowed = 1
else
  local overflow = (water + permits) - capacity
  waitMs = math.ceil((overflow / rate) * 1000)
end
redis.call('HSET', key, 'water', water, 'last_drip_ms', last_drip)
local ttlMs = math.ceil((capacity / rate) * 1000) * 2
if ttlMs < 1000 then ttlMs = 1000 end
redis.call('PEXPIRE', key, ttlMs)
local remaining = capacity - water
if remaining < 0 then remaining = 0 end
remaining = math.floor(remaining)
return {allowed, remaining, waitMs}
