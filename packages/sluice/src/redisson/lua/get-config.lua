-- Reads what was set.
-- KEYS     see state.lua
-- Returns  the rate, the interval in ms, the type, the time to keep alive in ms; nothing where nobody has set a rate
local rate, interval, type, keepAlive = readConfig()
if not rate then return {} end
return { rate, interval, type, keepAlive }
