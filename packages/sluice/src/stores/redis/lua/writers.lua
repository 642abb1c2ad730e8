-- What looks at plain asks, and what writes them down, by algorithm; see plain.lua.
local plain, writers = {}, {}

local function write(key, text, expiresAt, before)
  local failed
  --@ stores/redis/lua/write.lua
  if failed then error({ err = failed }) end
end
