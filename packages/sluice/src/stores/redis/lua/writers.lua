-- What the lane did not need.
local floor, ceil, max, byte, sub = math.floor, math.ceil, math.max, string.byte, string.sub

-- What looks at plain asks, what writes them down, and how long a plain state is, by algorithm; see plain.lua.
local plain, writers, sizes = {}, {}, {}

local function write(key, text, expiresAt, before)
  local failed, length
  --@ stores/redis/lua/write.lua
  if failed then error({ err = failed }) end
end
