-- Reads the strings of the parts of all asks at once where some of them are lists, up to an ask that looks further than this
-- moment: values, and whether those without one are fresh.
values = {}
local names, places = {}, {}
local ask, place = 0, 0
local known = true
while place < keys and known do
  ask = ask + 1
  local plan = plans[numbers and numbers[ask] or 1]
  local mode = plan[1]
  known = mode == "spend" or mode == "peek" or mode == "give" or mode == "forget"
  for part = 3, known and #plan or 0, 2 do
    if not plan[part + 1].with then
      place = place + 1
      values[place] = false
      if plan[part] ~= "log" then
        names[#names + 1], places[#places + 1] = KEYS[place], place
      end
    end
  end
  -- behind those of a give or forget it is noted when its parts were forgotten
  if mode == "give" or mode == "forget" then place = place + #plan / 2 - 1 end
end
if #names > 0 then
  local absent
  for i, value in ipairs(call("MGET", spread(names))) do
    values[places[i]] = value
    if not value then
      absent = absent or {}
      absent[#absent + 1] = names[i]
    end
  end
  fresh = known and absent and try("EXISTS", spread(absent)) == 0
end
