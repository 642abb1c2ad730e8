-- Deletes everything but the permits that other clients hold under type PER_CLIENT.
--
-- KEYS     see state.lua
-- Returns  how many keys existed
return redis.call("DEL", KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5])
