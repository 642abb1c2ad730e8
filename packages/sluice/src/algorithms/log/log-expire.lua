-- Has a log dropped that matters until expiresAt and did until before.
local stretch = expiresAt + -expiresAt % STRETCH
local set
if callersNow then
  set = try("PEXPIRE", key, format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK))
elseif stretch ~= before + -before % STRETCH then
  set = try("PEXPIREAT", key, format("%d", stretch / 1000))
end
failed = type(set) == "table" and set.err
