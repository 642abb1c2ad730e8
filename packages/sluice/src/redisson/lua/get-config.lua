-- Reads the configuration.
--
-- KEYS     see state.lua
-- Returns  the rate, the interval in ms, the type, the keepAliveTime in ms. An empty list if no rate is set.
local rate, interval, type, keepAlive = readConfig()
if not rate then return {} end
return { rate, interval, type, keepAlive }
