-- KEYS counter; ARGV limit, window in seconds; returns the count or -1
local cnt = tonumber(redis.call("incr", KEYS[1]))
if (cnt == 1) then
    redis.call("expire", KEYS[1], tonumber(ARGV[2]))
elseif (cnt > tonumber(ARGV[1])) then
    return -1
end
return cnt
