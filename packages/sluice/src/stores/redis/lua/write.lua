-- Writes a string that matters until expiresAt over what mattered until before, 0 for nothing. Numbers become text by
-- format because Redis takes six times as long, and are rounded up by % because a function takes twice as long. Over a
-- string that is as long, by length if that is known, it is written in place, which spares Redis a new one, unless the
-- caller has no right to that.
local stretch = expiresAt + -expiresAt % STRETCH
if callersNow then
  failed = try("SET", key, text, "PX", format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK)).err
elseif stretch ~= before + -before % STRETCH then
  failed = try("SET", key, text, "PXAT", format("%d", stretch / 1000)).err
elseif length ~= #text or try("SETRANGE", key, "0", text) ~= length then
  failed = try("SET", key, text, "KEEPTTL").err
end
