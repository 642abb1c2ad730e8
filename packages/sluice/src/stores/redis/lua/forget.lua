-- Forgets keys.
-- KEYS     the keys
-- Returns  how many there were
return redis.call("DEL", unpack(KEYS))
