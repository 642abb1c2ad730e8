-- Has a log dropped that matters until expiresAt and did until before.
local stretch = ceil(expiresAt / STRETCH)
if callersNow then
  call("PEXPIRE", key, format("%d", max(ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK))
elseif stretch ~= ceil(before / STRETCH) then
  call("PEXPIREAT", key, format("%d", stretch * 900))
end
