-- KEYS hash; ARGV capacity, refill per second, permits; returns {allowed, remaining, wait in ms}
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
local last_refill = tonumber(redis.call('HGET', key, 'last_refill_ms') or now)
local tokens = tonumber(redis.call('HGET', key, 'tokens') or capacity)
if now > last_refill then
  local deltaSec = (now - last_refill) / 1000.0
  local refill = deltaSec * rate
  tokens = tokens + refill
  if tokens > capacity then tokens = capacity end
  last_refill = now
end
local allowed = 0
local waitMs = 0
local remaining = math.floor(tokens)
if tokens >= permits then
  tokens = tokens - permits
  allowed = 1
  remaining = math.floor(tokens)
else
  local need = permits - tokens
  waitMs = math.ceil((need / rate) * 1000)
end
redis.call('HSET', key, 'tokens', tokens, 'last_refill_ms', last_refill)
local ttlMs = math.ceil((capacity / rate) * 1000) * 2
if ttlMs < 1000 then ttlMs = 1000 end
redis.call('PEXPIRE', key, ttlMs)
return {allowed, remaining, waitMs}
