-- Shared by all files: functions of Redis, the time, the keys and the reply of one call, and access to stored strings.

local call, try, decode_json
local format, sub, concat, pack, unpack, spread
local floor, ceil, max, min
-- By name. Each algorithm adds itself.
local algorithms = {}
local INFINITY = 1 / 0
local MAX_SAFE_INTEGER = 9007199254740991

-- These functions do not exist while Redis loads a library, so the first call binds them.
local function bind()
  call, try, decode_json = redis.call, redis.pcall, cjson.decode
  format, sub, concat = string.format, string.sub, table.concat
  pack, unpack, spread = struct.pack, struct.unpack, _G.unpack
  floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
end

-- Tolerated clock skew in µs. A larger difference counts as a clock that jumped.
local GRACE = 1000000
-- Keys expire at multiples of this, in µs. A write with the same multiple leaves the expiry alone, which halves its cost.
local EXPIRY_STEP = 900000
-- With the caller's clock, a key lives this many ms longer, because Redis expires keys by its own clock.
local CALLER_CLOCK_SLACK = 60900

-- `now` is the time of this call in µs. `caller_now` is the same, but only if it came from the caller's clock.
-- While a turn is booked, `now` is the time of the turn, and `lead` is how far it lies ahead of the clock.
local now, caller_now, lead
-- All keys of this call. Those up to `key_offset` belong to earlier requests.
local keys, key_offset
-- The flat list of integers that the call returns, and its length.
local reply, reply_length
-- The values that MGET returned, by the index of the key.
local values
-- The values that this call wrote, by key. False for a removed key. Only filled if `may_reread`: the call may read a key again.
local may_reread, written = false, {}

local function add_to_reply(number)
  reply_length = reply_length + 1
  reply[reply_length] = number
end

-- Returns the string at keys[index], or false. Raises an error if the key holds another type.
local function read_string(index)
  local value = may_reread and written[keys[index]]
  if value == nil or not may_reread then value = values[index] or call("GET", keys[index]) end
  values[index] = value
  return value
end

-- Rounds a time up to a multiple of EXPIRY_STEP.
local function expiry_step(moment) return moment + -moment % EXPIRY_STEP end

-- Returns the ms that a key has left to live by the caller's clock.
local function time_to_live(expires_at)
  return format("%d", max(ceil((expires_at - caller_now) / 1000), 0) + CALLER_CLOCK_SLACK)
end

-- Writes a string that is needed until `expires_at`. `expired_at` is the same for the old value, 0 if there was none.
-- SETRANGE takes a third of the time of SET, because it reuses the old value's memory.
-- Numbers go through `format`, because Redis converts them slowly.
local function write_string(index, text, expires_at, expired_at)
  local key, expiry = keys[index], expiry_step(expires_at)
  if caller_now then
    call("SET", key, text, "PX", time_to_live(expires_at))
  elseif expiry ~= expiry_step(expired_at) then
    call("SET", key, text, "PXAT", format("%d", expiry / 1000))
  else
    local old, length = values[index], #text
    if not old or #old ~= length or try("SETRANGE", key, "0", text) ~= length then call("SET", key, text, "KEEPTTL") end
  end
  if may_reread then written[key] = text end
end

-- Sets the expiry of a list, as write_string does for a string.
local function expire(key, expires_at, expired_at)
  local expiry = expiry_step(expires_at)
  if caller_now then
    call("PEXPIRE", key, time_to_live(expires_at))
  elseif expiry ~= expiry_step(expired_at) then
    call("PEXPIREAT", key, format("%d", expiry / 1000))
  end
end

local function remove(index)
  call("DEL", keys[index])
  if may_reread then written[keys[index]] = false end
end
