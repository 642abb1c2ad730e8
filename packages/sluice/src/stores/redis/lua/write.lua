-- Writes a string that matters until expiresAt over what mattered until before, 0 for nothing. Numbers become text by
-- format because Redis takes six times as long.
local stretch = ceil(expiresAt / STRETCH)
if callersNow then
  failed = try("SET", key, text, "PX", format("%d", max(ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK)).err
elseif stretch == ceil(before / STRETCH) then
  failed = try("SET", key, text, "KEEPTTL").err
else
  failed = try("SET", key, text, "PXAT", format("%d", stretch * 900)).err
end
