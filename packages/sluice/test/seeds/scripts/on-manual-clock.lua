-- Put in front of a script, this makes it run by the test's clock, which is one more ARGV, in milliseconds:
-- TIME tells it and keys expire by it. The script itself stays as it was written.
local server = redis
local clock = tonumber(table.remove(ARGV))
local deadlines = KEYS[1] .. ":deadlines"

local noted = server.call("HGETALL", deadlines)
for i = 1, #noted, 2 do
  if tonumber(noted[i + 1]) <= clock then
    server.call("DEL", noted[i])
    server.call("HDEL", deadlines, noted[i])
  end
end

local own = {}
function own.TIME() return { tostring(math.floor(clock / 1000)), tostring(clock % 1000 * 1000) } end
function own.PEXPIRE(key, ms) return server.call("HSET", deadlines, key, clock + ms) end
function own.EXPIRE(key, seconds) return own.PEXPIRE(key, seconds * 1000) end
function own.SET(key, value, ex, seconds)
  server.call("HDEL", deadlines, key)
  if ex then own.EXPIRE(key, seconds) end
  return server.call("SET", key, value)
end

local redis = {
  call = function(name, ...)
    return (own[string.upper(name)] or function(...) return server.call(name, ...) end)(...)
  end,
}
