-- Has a log dropped that matters until expiresAt and did until before.
local stretch = ceil(expiresAt / STRETCH)
local set
if callersNow then
  set = try("PEXPIRE", key, format("%d", max(ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK))
elseif stretch ~= ceil(before / STRETCH) then
  set = try("PEXPIREAT", key, format("%d", stretch * 900))
end
failed = type(set) == "table" and set.err
