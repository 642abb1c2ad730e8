-- Forgets everything but what other clients have for themselves.
-- KEYS     see state.lua
-- Returns  how many keys there were
return redis.call("DEL", KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5])
