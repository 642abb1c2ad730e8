-- KEYS sorted set; ARGV window in ms, limit, unique member; returns {allowed, remaining, wait in ms}
local key = KEYS[1]
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local window = tonumber(ARGV[1])
local limit = tonumber(ARGV[2])
local member = ARGV[3]
redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
local count = redis.call('ZCARD', key)
if count < limit then
  redis.call('ZADD', key, now, member)
  redis.call('PEXPIRE', key, window)
  local remaining = limit - (count + 1)
  if remaining < 0 then remaining = 0 end
  return {1, remaining, 0}
else
  local oldest = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  local oldestScore
  if oldest and #oldest >= 2 then
    oldestScore = tonumber(oldest[2])
  else
    oldestScore = now
  end
  local waitMs = (oldestScore + window) - now
  if waitMs < 0 then waitMs = 0 end
  return {0, 0, waitMs}
end
