-- Reads what asks differ in, so many asks of as many parts each. A byte says how many digits their costs have, none if all
-- have those of the plan, which is for a cost of 1 otherwise, and 16 more if a key may come twice. Then comes the count of each
-- ask, a byte each; then what each costs under each part, a byte to a digit, of which 128 make one of the next.
if ARGV[3] ~= "" then
  local byte = string.byte
  local digits = byte(ARGV[3])
  if digits >= 16 then digits, written = digits - 16, {} end
  counts = { byte(ARGV[3], 2, number + 1) }
  if digits > 0 then
    costs = {}
    local at = number + 2
    for i = 1, number * each do
      local cost, second, third = byte(ARGV[3], at, at + digits - 1)
      if second then cost = cost * 128 + second end
      if third then cost = cost * 128 + third end
      for more = at + 3, at + digits - 1 do cost = cost * 128 + byte(ARGV[3], more) end
      costs[i] = cost
      at = at + digits
    end
  end
end
