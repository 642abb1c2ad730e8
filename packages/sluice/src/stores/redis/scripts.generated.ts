// Made by scripts/embed-lua.mjs from the Lua files: do not edit.
export const scripts = {
  ask: {
    sha: "0d2de9225409c4655c22c3fbe341d6bcd7fb4091",
    source: `local algorithms = {}
local call = redis.call
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local format = string.format
local spread = unpack
local pack, unpack = struct.pack, struct.unpack
local GRACE = 1000000
local STRETCH = 900000
local CALLERS_SLACK = 60900
local callersNow = tonumber(ARGV[1])
local now = callersNow
if not now then
local time = call("TIME")
now = time[1] * 1000000 + time[2]
end
local strings = {}
local function get(key)
local value = strings[key] or call("GET", key)
strings[key] = value
return value
end
local function set(key, value, expiresAt, before)
local stretch = ceil(expiresAt / STRETCH)
if callersNow then
call("SET", key, value, "PX", format("%d", max(ceil((expiresAt - now) / 1000), 0) + CALLERS_SLACK))
elseif stretch == ceil(before / STRETCH) then
call("SET", key, value, "KEEPTTL")
else
call("SET", key, value, "PXAT", format("%d", stretch * 900))
end
strings[key] = value
end
do
local bucket = { inString = true }
algorithms.bucket = bucket
local function read(terms, key)
local step = terms.step
local full, reach, part, anchor, lapsesAt, expiresAt = now, terms.reach, 0, nil, 0, 0
local value = get(key)
if value then
full, reach = unpack(">i7I5", value)
expiresAt = full + 1
local size = #value
if size == 26 or size == 36 then
anchor, lapsesAt = unpack(">i7I7", value, size - 13)
expiresAt = max(expiresAt, lapsesAt)
end
if size == 22 or size == 36 then
local from, to = 1, terms.parts or 1
part, from = unpack(">I5I5", value, 13)
if from ~= to then
local product = part * to
part = product + from <= 9007199254740991 and floor((product + from - 1) / from) or to
end
if part == to then
full = full + 1
part = 0
end
end
end
local jumped = full - now > reach * 1000 + max(reach * 1000, GRACE)
if jumped then
full = now + reach * 1000
part = 0
anchor = nil
lapsesAt = 0
end
local at = now
if step then
anchor = anchor or full
at = anchor + floor((now - anchor) / step) * step
end
local spent = full > at or (full == at and part > 0)
if not spent and now >= lapsesAt then
at = now
anchor = step and now
end
if not spent then
full = at
part = 0
end
return at, full - at, part, reach, anchor, lapsesAt, jumped, expiresAt
end
local function keep(terms, key, full, part, reach, anchor, lapsesAt, before)
local value = pack(">i7I5", full, reach)
local expiresAt = full + 1
if part > 0 then value = value .. pack(">I5I5", part, terms.parts) end
if anchor then
value = value .. pack(">i7I7", anchor, lapsesAt)
expiresAt = max(expiresAt, lapsesAt)
end
set(key, value, expiresAt, before)
end
local function room(terms, ahead, part, count)
local parts, cost, costPart = terms.parts or 1, terms.cost, terms.costPart or 0
local whole = terms.span - ahead
local rest = (terms.spanPart or 0) - part
if rest < 0 then
whole = whole - 1
rest = rest + parts
end
if whole < 0 then return 0 end
if count == 1 then return (cost < whole or (cost == whole and costPart <= rest)) and 1 or 0 end
local function fits(k)
local pieces = k * costPart
local carry = floor(pieces / parts)
local needed = k * cost + carry
return needed < whole or (needed == whole and pieces - carry * parts <= rest)
end
local most = min(count, floor(9007199254740991 / parts))
local k = min(most, floor((whole + rest / parts) / (cost + costPart / parts)))
while k > 0 and not fits(k) do k = k - 1 end
while k < most and fits(k + 1) do k = k + 1 end
return k
end
function bucket.step(terms, key, count, granted, spend, reply)
local at, ahead, part, reach, anchor, lapsesAt, jumped, before = read(terms, key)
granted = granted or room(terms, ahead, part, count)
if not reply then return granted end
if spend and granted > 0 then
ahead = ahead + granted * terms.cost
local parts = terms.parts
if parts then
local pieces = granted * terms.costPart
local carry = floor(pieces / parts)
ahead = ahead + carry
part = part + pieces - carry * parts
if part >= parts then
part = part - parts
ahead = ahead + 1
end
end
lapsesAt = max(lapsesAt, now + (terms.life or 0))
keep(terms, key, at + ahead, part, terms.reach, anchor, lapsesAt, before)
elseif spend and jumped then
keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before)
end
reply[#reply + 1] = ahead
if terms.parts or terms.step then reply[#reply + 1] = part end
if terms.step then reply[#reply + 1] = now - at end
return granted
end
function bucket.give(terms, key, debitedAt)
local at, ahead, part, reach, anchor, lapsesAt, _, before = read(terms, key)
local refilled = 0
if debitedAt >= 0 then
local step = terms.step
refilled = max(step and at - anchor - floor((debitedAt - anchor) / step) * step or now - debitedAt, 0)
if refilled >= terms.cost then return end
end
ahead = ahead - terms.cost + refilled
part = part - (terms.costPart or 0)
if part < 0 then
part = part + terms.parts
ahead = ahead - 1
end
if ahead < 0 or (ahead == 0 and part == 0) then
ahead = 0
part = 0
if lapsesAt <= now then
call("DEL", key)
strings[key] = nil
return
end
end
keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before)
end
end
do
local fixedWindow = { inString = true }
algorithms.fixedWindow = fixedWindow
local function read(key)
local start, stop, used, reach, expiresAt = now, now, 0, 0, 0
local value = get(key)
if value then
start, stop, used, reach = unpack(">I7I7I6I5", value)
expiresAt = stop
if stop <= now then start, stop, used, reach = now, now, 0, 0 end
end
local jumped = stop - now > reach * 1000 + max(reach * 1000, GRACE)
if jumped then start, stop = now, now + reach * 1000 end
return start, stop, used, reach, jumped, expiresAt
end
function fixedWindow.step(terms, key, count, granted, spend, reply)
local start, stop, used, reach, jumped, before = read(key)
granted = granted or min(count, max(floor((terms.limit - used) / terms.cost), 0))
if not reply then return granted end
if spend and granted > 0 then
local window = terms.window
if terms.aligned == 1 then
stop = max(stop, (floor(now / window) + 1) * window)
elseif stop - start < window then
stop = max(stop, now + window)
end
reach = max(reach, window / 1000)
used = used + granted * terms.cost
end
if spend and (granted > 0 or jumped) then
set(key, pack(">I7I7I6I5", start, stop, used, reach), stop, before)
end
reply[#reply + 1] = used
reply[#reply + 1] = stop - now
return granted
end
function fixedWindow.give(terms, key, debitedAt)
local start, stop, used, reach, _, before = read(key)
if debitedAt >= 0 and debitedAt < start then return end
used = max(used - terms.cost, 0)
if used == 0 then
call("DEL", key)
strings[key] = nil
else
set(key, pack(">I7I7I6I5", start, stop, used, reach), stop, before)
end
end
end
do
local log = {}
algorithms.log = log
local WRAP = 281474976710656
local PRUNE = 32
local function packed(at, sum, till) return pack(">I7I6I6", at, sum, till) end
local BASE = packed(0, 0, 0)
local function expire(key, expiresAt, before)
local stretch = ceil(expiresAt / STRETCH)
if callersNow then
call("PEXPIRE", key, format("%d", max(ceil((expiresAt - now) / 1000), 0) + CALLERS_SLACK))
elseif stretch ~= ceil(before / STRETCH) then
call("PEXPIREAT", key, format("%d", stretch * 900))
end
end
local function entry(index, value)
local at, sum, till = unpack(">I7I6I6", value)
return { index = index, at = at, sum = sum, till = till }
end
local function entryAt(key, index) return entry(index, call("LINDEX", key, index)) end
local function units(sum, base) return (sum - base + WRAP) % WRAP end
local function search(key, value, target, below, above)
local guess = true
while above.index - below.index > 1 do
local share = guess and (target - value(below)) / (value(above) - value(below)) or 0.5
local index = below.index + floor(share * (above.index - below.index))
local probe = entryAt(key, max(below.index + 1, min(index, above.index - 1)))
if value(probe) >= target then above = probe else below = probe end
guess = not guess
end
return above
end
local function around(key, head, newest, value, target)
local base, first, second = entry(0, head[1]), entry(1, head[2]), head[3] and entry(2, head[3])
if value(first) >= target then return base, first end
if second and value(second) >= target then return first, second end
newest.index = call("LLEN", key) - 1
if value(newest) < target then return newest, nil end
local found = search(key, value, target, second or first, newest)
return entryAt(key, found.index - 1), found
end
local function read(terms, key)
local head = call("LRANGE", key, 0, 2)
local size = #head
if size == 0 then return { head = head, first = 1, base = 0, total = 0, last = 0, sum = 0, till = 0, expiresAt = 0 } end
local last, sum, till = unpack(">I7I6I6", size < 3 and head[size] or call("LINDEX", key, -1))
local reach = till * 1000 - last
if last - now > max(reach, GRACE) then
local newest = { at = last, sum = sum, till = till }
local before = around(key, head, newest, function(each) return each.till end, floor(last / 1000) + 1)
local total = units(sum, before.sum)
till = ceil((now + reach) / 1000)
return {
head = head, first = 1, firstValue = packed(now, total, till), base = 0, total = total, last = now,
sum = total, till = till, jumped = true,
}
end
local from = now - terms.window + 1
local first, firstValue, base = 1, head[2], nil
local at, sumAt = unpack(">I7I6", head[2])
if at >= from then
local _, sumBefore = unpack(">I7I6", head[1])
base = sumBefore
elseif size == 3 and unpack(">I7", head[3]) >= from then
first, firstValue, base = 2, head[3], sumAt
else
local newest = { at = last, sum = sum, till = till }
local before, found = around(key, head, newest, function(each) return each.at end, from)
first, base = before.index + 1, before.sum
firstValue = found and packed(found.at, found.sum, found.till)
end
return {
head = head, first = first, firstValue = firstValue, base = base, total = units(sum, base), last = last,
sum = sum, till = till, expiresAt = till * 1000,
}
end
local function prune(key, view)
local most = min(view.first - 1, PRUNE)
if most == 0 then return end
local old = most < #view.head and view.head or call("LRANGE", key, 0, most)
local gone = 0
while gone < most and unpack(">I6", old[gone + 2], 14) * 1000 <= now do gone = gone + 1 end
if gone == 0 then return end
call("LPOP", key, gone)
view.first = view.first - gone
end
local function mend(view, key)
call("DEL", key)
call("RPUSH", key, BASE, packed(view.last, view.sum, view.till))
expire(key, view.till * 1000, 0)
view.expiresAt = view.till * 1000
end
local function take(terms, view, granted, key)
local at = max(now, view.last)
local sum = (view.sum + granted * terms.cost) % WRAP
local till = max(ceil((at + terms.window) / 1000), view.till)
local ownWindow = view.till >= ceil((view.last + terms.window) / 1000)
local sameSubWindow = floor(view.last / terms.merge) == floor(at / terms.merge)
local value = packed(at, sum, till)
local first = view.firstValue
if #view.head == 0 then
call("RPUSH", key, BASE, value)
elseif view.total > 0 and ownWindow and sameSubWindow then
call("LSET", key, -1, value)
if unpack(">I6", first, 8) == view.sum then first = nil end
else
call("RPUSH", key, value)
end
view.firstValue = first or value
if #view.head > 0 then prune(key, view) end
expire(key, till * 1000, view.expiresAt)
view.total = view.total + granted * terms.cost
view.last, view.sum, view.till = at, sum, till
end
local function reaching(key, view, amount)
local function spent(each) return units(each.sum, view.base) end
local first = entry(view.first, view.firstValue)
if spent(first) >= amount then return first end
local newest = { index = call("LLEN", key) - 1, at = view.last, sum = view.sum, till = view.till }
return search(key, spent, amount, first, newest)
end
local function giveNewest(terms, view, key)
local left = view.total - terms.cost
if left <= 0 then
call("LTRIM", key, 0, view.first - 1)
else
local cut = reaching(key, view, left)
call("LTRIM", key, 0, cut.index)
call("LSET", key, -1, packed(cut.at, (view.base + left) % WRAP, cut.till))
end
local newest = entryAt(key, -1)
if call("LLEN", key) == 1 or newest.till * 1000 <= now then
call("DEL", key)
else
expire(key, newest.till * 1000, view.expiresAt)
end
end
local function giveOldest(terms, view, key)
prune(key, view)
local olderMatter = view.first > 1
if view.till * 1000 <= now or (not olderMatter and terms.cost >= view.total) then
call("DEL", key)
return
end
if olderMatter then return end
local cut = reaching(key, view, terms.cost)
local sum = (view.base + terms.cost) % WRAP
call("LTRIM", key, cut.sum == sum and cut.index or cut.index - 1, -1)
call("LSET", key, 0, packed(0, sum, 0))
end
local function wait(terms, view, key)
local excess = view.total + terms.cost - terms.limit
if terms.cost > terms.limit or excess <= 0 then return 0 end
return reaching(key, view, excess).at + terms.window - now
end
function log.step(terms, key, count, granted, spend, reply)
local view = read(terms, key)
granted = granted or min(count, max(floor((terms.limit - view.total) / terms.cost), 0))
if not reply then return granted end
if spend and view.jumped then mend(view, key) end
if spend and granted > 0 then take(terms, view, granted, key) end
reply[#reply + 1] = view.total
reply[#reply + 1] = view.total > 0 and view.last + terms.window - now or 0
if granted < count then reply[#reply + 1] = wait(terms, view, key) end
return granted
end
function log.give(terms, key, debitedAt)
if debitedAt >= 0 and debitedAt + terms.window <= now then return end
local view = read(terms, key)
if #view.head == 0 then return end
if view.jumped then mend(view, key) end
if debitedAt >= 0 then giveOldest(terms, view, key) else giveNewest(terms, view, key) end
end
end
local plans = cjson.decode(ARGV[2])
local numbers = ARGV[3] and cjson.decode(ARGV[3])
local keys = #KEYS
if keys > 1 and algorithms[plans[1][3]].inString then
local values = call("MGET", spread(KEYS))
for i = 1, keys do strings[KEYS[i]] = values[i] end
end
local reply = { now }
local asks, used = 0, 0
local function spendOrPeek(plan, parts)
local spend = plan[1] == "spend"
local count = plan[2]
local first = #reply + 1
local granted
if parts == 1 then
granted = algorithms[plan[3]].step(plan[4], KEYS[used + 1], count, nil, spend, reply)
else
granted = count
for part = 1, parts do
granted = algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], KEYS[used + part], granted, nil, false)
end
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], KEYS[used + part], count, granted, spend, reply)
end
end
if granted < count then
reply[first] = -1 - reply[first]
if count > 1 then reply[#reply + 1] = granted end
end
end
local function giveBack(plan, parts)
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], KEYS[used + part], 1, nil, false)
end
for part = 1, parts do
algorithms[plan[part * 2 + 1]].give(plan[part * 2 + 2], KEYS[used + part], plan[2])
end
reply[#reply + 1] = 0
end
local function forget(parts)
for part = 1, parts do
call("DEL", KEYS[used + part])
strings[KEYS[used + part]] = nil
end
reply[#reply + 1] = 0
end
local told = 1
local function answerTheRest()
while used < keys do
local plan = plans[numbers and numbers[asks + 1] or 1]
local parts = #plan / 2 - 1
told = #reply
if plan[1] == "give" then
giveBack(plan, parts)
elseif plan[1] == "forget" then
forget(parts)
else
spendOrPeek(plan, parts)
end
asks = asks + 1
used = used + parts
end
end
while used < keys do
local done, wrong = pcall(answerTheRest)
if not done then
for extra = #reply, told + 1, -1 do reply[extra] = nil end
reply[told + 1] = { type(wrong) == "table" and wrong.err or wrong }
asks = asks + 1
used = used + #plans[numbers and numbers[asks] or 1] / 2 - 1
end
end
return reply`,
  },
  bucket: {
    sha: "8df83c9902cf10980839618fca78bd0b4ec6f71d",
    source: `local algorithms = {}
local call = redis.call
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local format = string.format
local spread = unpack
local pack, unpack = struct.pack, struct.unpack
local GRACE = 1000000
local STRETCH = 900000
local CALLERS_SLACK = 60900
local callersNow = tonumber(ARGV[1])
local now = callersNow
if not now then
local time = call("TIME")
now = time[1] * 1000000 + time[2]
end
local strings = {}
local function get(key)
local value = strings[key] or call("GET", key)
strings[key] = value
return value
end
local function set(key, value, expiresAt, before)
local stretch = ceil(expiresAt / STRETCH)
if callersNow then
call("SET", key, value, "PX", format("%d", max(ceil((expiresAt - now) / 1000), 0) + CALLERS_SLACK))
elseif stretch == ceil(before / STRETCH) then
call("SET", key, value, "KEEPTTL")
else
call("SET", key, value, "PXAT", format("%d", stretch * 900))
end
strings[key] = value
end
do
local bucket = { inString = true }
algorithms.bucket = bucket
local function read(terms, key)
local step = terms.step
local full, reach, part, anchor, lapsesAt, expiresAt = now, terms.reach, 0, nil, 0, 0
local value = get(key)
if value then
full, reach = unpack(">i7I5", value)
expiresAt = full + 1
local size = #value
if size == 26 or size == 36 then
anchor, lapsesAt = unpack(">i7I7", value, size - 13)
expiresAt = max(expiresAt, lapsesAt)
end
if size == 22 or size == 36 then
local from, to = 1, terms.parts or 1
part, from = unpack(">I5I5", value, 13)
if from ~= to then
local product = part * to
part = product + from <= 9007199254740991 and floor((product + from - 1) / from) or to
end
if part == to then
full = full + 1
part = 0
end
end
end
local jumped = full - now > reach * 1000 + max(reach * 1000, GRACE)
if jumped then
full = now + reach * 1000
part = 0
anchor = nil
lapsesAt = 0
end
local at = now
if step then
anchor = anchor or full
at = anchor + floor((now - anchor) / step) * step
end
local spent = full > at or (full == at and part > 0)
if not spent and now >= lapsesAt then
at = now
anchor = step and now
end
if not spent then
full = at
part = 0
end
return at, full - at, part, reach, anchor, lapsesAt, jumped, expiresAt
end
local function keep(terms, key, full, part, reach, anchor, lapsesAt, before)
local value = pack(">i7I5", full, reach)
local expiresAt = full + 1
if part > 0 then value = value .. pack(">I5I5", part, terms.parts) end
if anchor then
value = value .. pack(">i7I7", anchor, lapsesAt)
expiresAt = max(expiresAt, lapsesAt)
end
set(key, value, expiresAt, before)
end
local function room(terms, ahead, part, count)
local parts, cost, costPart = terms.parts or 1, terms.cost, terms.costPart or 0
local whole = terms.span - ahead
local rest = (terms.spanPart or 0) - part
if rest < 0 then
whole = whole - 1
rest = rest + parts
end
if whole < 0 then return 0 end
if count == 1 then return (cost < whole or (cost == whole and costPart <= rest)) and 1 or 0 end
local function fits(k)
local pieces = k * costPart
local carry = floor(pieces / parts)
local needed = k * cost + carry
return needed < whole or (needed == whole and pieces - carry * parts <= rest)
end
local most = min(count, floor(9007199254740991 / parts))
local k = min(most, floor((whole + rest / parts) / (cost + costPart / parts)))
while k > 0 and not fits(k) do k = k - 1 end
while k < most and fits(k + 1) do k = k + 1 end
return k
end
function bucket.step(terms, key, count, granted, spend, reply)
local at, ahead, part, reach, anchor, lapsesAt, jumped, before = read(terms, key)
granted = granted or room(terms, ahead, part, count)
if not reply then return granted end
if spend and granted > 0 then
ahead = ahead + granted * terms.cost
local parts = terms.parts
if parts then
local pieces = granted * terms.costPart
local carry = floor(pieces / parts)
ahead = ahead + carry
part = part + pieces - carry * parts
if part >= parts then
part = part - parts
ahead = ahead + 1
end
end
lapsesAt = max(lapsesAt, now + (terms.life or 0))
keep(terms, key, at + ahead, part, terms.reach, anchor, lapsesAt, before)
elseif spend and jumped then
keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before)
end
reply[#reply + 1] = ahead
if terms.parts or terms.step then reply[#reply + 1] = part end
if terms.step then reply[#reply + 1] = now - at end
return granted
end
function bucket.give(terms, key, debitedAt)
local at, ahead, part, reach, anchor, lapsesAt, _, before = read(terms, key)
local refilled = 0
if debitedAt >= 0 then
local step = terms.step
refilled = max(step and at - anchor - floor((debitedAt - anchor) / step) * step or now - debitedAt, 0)
if refilled >= terms.cost then return end
end
ahead = ahead - terms.cost + refilled
part = part - (terms.costPart or 0)
if part < 0 then
part = part + terms.parts
ahead = ahead - 1
end
if ahead < 0 or (ahead == 0 and part == 0) then
ahead = 0
part = 0
if lapsesAt <= now then
call("DEL", key)
strings[key] = nil
return
end
end
keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before)
end
end
local plans = cjson.decode(ARGV[2])
local numbers = ARGV[3] and cjson.decode(ARGV[3])
local keys = #KEYS
if keys > 1 and algorithms[plans[1][3]].inString then
local values = call("MGET", spread(KEYS))
for i = 1, keys do strings[KEYS[i]] = values[i] end
end
local reply = { now }
local asks, used = 0, 0
local function spendOrPeek(plan, parts)
local spend = plan[1] == "spend"
local count = plan[2]
local first = #reply + 1
local granted
if parts == 1 then
granted = algorithms[plan[3]].step(plan[4], KEYS[used + 1], count, nil, spend, reply)
else
granted = count
for part = 1, parts do
granted = algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], KEYS[used + part], granted, nil, false)
end
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], KEYS[used + part], count, granted, spend, reply)
end
end
if granted < count then
reply[first] = -1 - reply[first]
if count > 1 then reply[#reply + 1] = granted end
end
end
local function giveBack(plan, parts)
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], KEYS[used + part], 1, nil, false)
end
for part = 1, parts do
algorithms[plan[part * 2 + 1]].give(plan[part * 2 + 2], KEYS[used + part], plan[2])
end
reply[#reply + 1] = 0
end
local function forget(parts)
for part = 1, parts do
call("DEL", KEYS[used + part])
strings[KEYS[used + part]] = nil
end
reply[#reply + 1] = 0
end
local told = 1
local function answerTheRest()
while used < keys do
local plan = plans[numbers and numbers[asks + 1] or 1]
local parts = #plan / 2 - 1
told = #reply
if plan[1] == "give" then
giveBack(plan, parts)
elseif plan[1] == "forget" then
forget(parts)
else
spendOrPeek(plan, parts)
end
asks = asks + 1
used = used + parts
end
end
while used < keys do
local done, wrong = pcall(answerTheRest)
if not done then
for extra = #reply, told + 1, -1 do reply[extra] = nil end
reply[told + 1] = { type(wrong) == "table" and wrong.err or wrong }
asks = asks + 1
used = used + #plans[numbers and numbers[asks] or 1] / 2 - 1
end
end
return reply`,
  },
  fixedWindow: {
    sha: "4dd11acff5e5202e3eeee83a6dd53a8611f1a6a1",
    source: `local algorithms = {}
local call = redis.call
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local format = string.format
local spread = unpack
local pack, unpack = struct.pack, struct.unpack
local GRACE = 1000000
local STRETCH = 900000
local CALLERS_SLACK = 60900
local callersNow = tonumber(ARGV[1])
local now = callersNow
if not now then
local time = call("TIME")
now = time[1] * 1000000 + time[2]
end
local strings = {}
local function get(key)
local value = strings[key] or call("GET", key)
strings[key] = value
return value
end
local function set(key, value, expiresAt, before)
local stretch = ceil(expiresAt / STRETCH)
if callersNow then
call("SET", key, value, "PX", format("%d", max(ceil((expiresAt - now) / 1000), 0) + CALLERS_SLACK))
elseif stretch == ceil(before / STRETCH) then
call("SET", key, value, "KEEPTTL")
else
call("SET", key, value, "PXAT", format("%d", stretch * 900))
end
strings[key] = value
end
do
local fixedWindow = { inString = true }
algorithms.fixedWindow = fixedWindow
local function read(key)
local start, stop, used, reach, expiresAt = now, now, 0, 0, 0
local value = get(key)
if value then
start, stop, used, reach = unpack(">I7I7I6I5", value)
expiresAt = stop
if stop <= now then start, stop, used, reach = now, now, 0, 0 end
end
local jumped = stop - now > reach * 1000 + max(reach * 1000, GRACE)
if jumped then start, stop = now, now + reach * 1000 end
return start, stop, used, reach, jumped, expiresAt
end
function fixedWindow.step(terms, key, count, granted, spend, reply)
local start, stop, used, reach, jumped, before = read(key)
granted = granted or min(count, max(floor((terms.limit - used) / terms.cost), 0))
if not reply then return granted end
if spend and granted > 0 then
local window = terms.window
if terms.aligned == 1 then
stop = max(stop, (floor(now / window) + 1) * window)
elseif stop - start < window then
stop = max(stop, now + window)
end
reach = max(reach, window / 1000)
used = used + granted * terms.cost
end
if spend and (granted > 0 or jumped) then
set(key, pack(">I7I7I6I5", start, stop, used, reach), stop, before)
end
reply[#reply + 1] = used
reply[#reply + 1] = stop - now
return granted
end
function fixedWindow.give(terms, key, debitedAt)
local start, stop, used, reach, _, before = read(key)
if debitedAt >= 0 and debitedAt < start then return end
used = max(used - terms.cost, 0)
if used == 0 then
call("DEL", key)
strings[key] = nil
else
set(key, pack(">I7I7I6I5", start, stop, used, reach), stop, before)
end
end
end
local plans = cjson.decode(ARGV[2])
local numbers = ARGV[3] and cjson.decode(ARGV[3])
local keys = #KEYS
if keys > 1 and algorithms[plans[1][3]].inString then
local values = call("MGET", spread(KEYS))
for i = 1, keys do strings[KEYS[i]] = values[i] end
end
local reply = { now }
local asks, used = 0, 0
local function spendOrPeek(plan, parts)
local spend = plan[1] == "spend"
local count = plan[2]
local first = #reply + 1
local granted
if parts == 1 then
granted = algorithms[plan[3]].step(plan[4], KEYS[used + 1], count, nil, spend, reply)
else
granted = count
for part = 1, parts do
granted = algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], KEYS[used + part], granted, nil, false)
end
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], KEYS[used + part], count, granted, spend, reply)
end
end
if granted < count then
reply[first] = -1 - reply[first]
if count > 1 then reply[#reply + 1] = granted end
end
end
local function giveBack(plan, parts)
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], KEYS[used + part], 1, nil, false)
end
for part = 1, parts do
algorithms[plan[part * 2 + 1]].give(plan[part * 2 + 2], KEYS[used + part], plan[2])
end
reply[#reply + 1] = 0
end
local function forget(parts)
for part = 1, parts do
call("DEL", KEYS[used + part])
strings[KEYS[used + part]] = nil
end
reply[#reply + 1] = 0
end
local told = 1
local function answerTheRest()
while used < keys do
local plan = plans[numbers and numbers[asks + 1] or 1]
local parts = #plan / 2 - 1
told = #reply
if plan[1] == "give" then
giveBack(plan, parts)
elseif plan[1] == "forget" then
forget(parts)
else
spendOrPeek(plan, parts)
end
asks = asks + 1
used = used + parts
end
end
while used < keys do
local done, wrong = pcall(answerTheRest)
if not done then
for extra = #reply, told + 1, -1 do reply[extra] = nil end
reply[told + 1] = { type(wrong) == "table" and wrong.err or wrong }
asks = asks + 1
used = used + #plans[numbers and numbers[asks] or 1] / 2 - 1
end
end
return reply`,
  },
  log: {
    sha: "7232c82fb401dff587e8f81eb695b54f04929c15",
    source: `local algorithms = {}
local call = redis.call
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local format = string.format
local spread = unpack
local pack, unpack = struct.pack, struct.unpack
local GRACE = 1000000
local STRETCH = 900000
local CALLERS_SLACK = 60900
local callersNow = tonumber(ARGV[1])
local now = callersNow
if not now then
local time = call("TIME")
now = time[1] * 1000000 + time[2]
end
local strings = {}
local function get(key)
local value = strings[key] or call("GET", key)
strings[key] = value
return value
end
local function set(key, value, expiresAt, before)
local stretch = ceil(expiresAt / STRETCH)
if callersNow then
call("SET", key, value, "PX", format("%d", max(ceil((expiresAt - now) / 1000), 0) + CALLERS_SLACK))
elseif stretch == ceil(before / STRETCH) then
call("SET", key, value, "KEEPTTL")
else
call("SET", key, value, "PXAT", format("%d", stretch * 900))
end
strings[key] = value
end
do
local log = {}
algorithms.log = log
local WRAP = 281474976710656
local PRUNE = 32
local function packed(at, sum, till) return pack(">I7I6I6", at, sum, till) end
local BASE = packed(0, 0, 0)
local function expire(key, expiresAt, before)
local stretch = ceil(expiresAt / STRETCH)
if callersNow then
call("PEXPIRE", key, format("%d", max(ceil((expiresAt - now) / 1000), 0) + CALLERS_SLACK))
elseif stretch ~= ceil(before / STRETCH) then
call("PEXPIREAT", key, format("%d", stretch * 900))
end
end
local function entry(index, value)
local at, sum, till = unpack(">I7I6I6", value)
return { index = index, at = at, sum = sum, till = till }
end
local function entryAt(key, index) return entry(index, call("LINDEX", key, index)) end
local function units(sum, base) return (sum - base + WRAP) % WRAP end
local function search(key, value, target, below, above)
local guess = true
while above.index - below.index > 1 do
local share = guess and (target - value(below)) / (value(above) - value(below)) or 0.5
local index = below.index + floor(share * (above.index - below.index))
local probe = entryAt(key, max(below.index + 1, min(index, above.index - 1)))
if value(probe) >= target then above = probe else below = probe end
guess = not guess
end
return above
end
local function around(key, head, newest, value, target)
local base, first, second = entry(0, head[1]), entry(1, head[2]), head[3] and entry(2, head[3])
if value(first) >= target then return base, first end
if second and value(second) >= target then return first, second end
newest.index = call("LLEN", key) - 1
if value(newest) < target then return newest, nil end
local found = search(key, value, target, second or first, newest)
return entryAt(key, found.index - 1), found
end
local function read(terms, key)
local head = call("LRANGE", key, 0, 2)
local size = #head
if size == 0 then return { head = head, first = 1, base = 0, total = 0, last = 0, sum = 0, till = 0, expiresAt = 0 } end
local last, sum, till = unpack(">I7I6I6", size < 3 and head[size] or call("LINDEX", key, -1))
local reach = till * 1000 - last
if last - now > max(reach, GRACE) then
local newest = { at = last, sum = sum, till = till }
local before = around(key, head, newest, function(each) return each.till end, floor(last / 1000) + 1)
local total = units(sum, before.sum)
till = ceil((now + reach) / 1000)
return {
head = head, first = 1, firstValue = packed(now, total, till), base = 0, total = total, last = now,
sum = total, till = till, jumped = true,
}
end
local from = now - terms.window + 1
local first, firstValue, base = 1, head[2], nil
local at, sumAt = unpack(">I7I6", head[2])
if at >= from then
local _, sumBefore = unpack(">I7I6", head[1])
base = sumBefore
elseif size == 3 and unpack(">I7", head[3]) >= from then
first, firstValue, base = 2, head[3], sumAt
else
local newest = { at = last, sum = sum, till = till }
local before, found = around(key, head, newest, function(each) return each.at end, from)
first, base = before.index + 1, before.sum
firstValue = found and packed(found.at, found.sum, found.till)
end
return {
head = head, first = first, firstValue = firstValue, base = base, total = units(sum, base), last = last,
sum = sum, till = till, expiresAt = till * 1000,
}
end
local function prune(key, view)
local most = min(view.first - 1, PRUNE)
if most == 0 then return end
local old = most < #view.head and view.head or call("LRANGE", key, 0, most)
local gone = 0
while gone < most and unpack(">I6", old[gone + 2], 14) * 1000 <= now do gone = gone + 1 end
if gone == 0 then return end
call("LPOP", key, gone)
view.first = view.first - gone
end
local function mend(view, key)
call("DEL", key)
call("RPUSH", key, BASE, packed(view.last, view.sum, view.till))
expire(key, view.till * 1000, 0)
view.expiresAt = view.till * 1000
end
local function take(terms, view, granted, key)
local at = max(now, view.last)
local sum = (view.sum + granted * terms.cost) % WRAP
local till = max(ceil((at + terms.window) / 1000), view.till)
local ownWindow = view.till >= ceil((view.last + terms.window) / 1000)
local sameSubWindow = floor(view.last / terms.merge) == floor(at / terms.merge)
local value = packed(at, sum, till)
local first = view.firstValue
if #view.head == 0 then
call("RPUSH", key, BASE, value)
elseif view.total > 0 and ownWindow and sameSubWindow then
call("LSET", key, -1, value)
if unpack(">I6", first, 8) == view.sum then first = nil end
else
call("RPUSH", key, value)
end
view.firstValue = first or value
if #view.head > 0 then prune(key, view) end
expire(key, till * 1000, view.expiresAt)
view.total = view.total + granted * terms.cost
view.last, view.sum, view.till = at, sum, till
end
local function reaching(key, view, amount)
local function spent(each) return units(each.sum, view.base) end
local first = entry(view.first, view.firstValue)
if spent(first) >= amount then return first end
local newest = { index = call("LLEN", key) - 1, at = view.last, sum = view.sum, till = view.till }
return search(key, spent, amount, first, newest)
end
local function giveNewest(terms, view, key)
local left = view.total - terms.cost
if left <= 0 then
call("LTRIM", key, 0, view.first - 1)
else
local cut = reaching(key, view, left)
call("LTRIM", key, 0, cut.index)
call("LSET", key, -1, packed(cut.at, (view.base + left) % WRAP, cut.till))
end
local newest = entryAt(key, -1)
if call("LLEN", key) == 1 or newest.till * 1000 <= now then
call("DEL", key)
else
expire(key, newest.till * 1000, view.expiresAt)
end
end
local function giveOldest(terms, view, key)
prune(key, view)
local olderMatter = view.first > 1
if view.till * 1000 <= now or (not olderMatter and terms.cost >= view.total) then
call("DEL", key)
return
end
if olderMatter then return end
local cut = reaching(key, view, terms.cost)
local sum = (view.base + terms.cost) % WRAP
call("LTRIM", key, cut.sum == sum and cut.index or cut.index - 1, -1)
call("LSET", key, 0, packed(0, sum, 0))
end
local function wait(terms, view, key)
local excess = view.total + terms.cost - terms.limit
if terms.cost > terms.limit or excess <= 0 then return 0 end
return reaching(key, view, excess).at + terms.window - now
end
function log.step(terms, key, count, granted, spend, reply)
local view = read(terms, key)
granted = granted or min(count, max(floor((terms.limit - view.total) / terms.cost), 0))
if not reply then return granted end
if spend and view.jumped then mend(view, key) end
if spend and granted > 0 then take(terms, view, granted, key) end
reply[#reply + 1] = view.total
reply[#reply + 1] = view.total > 0 and view.last + terms.window - now or 0
if granted < count then reply[#reply + 1] = wait(terms, view, key) end
return granted
end
function log.give(terms, key, debitedAt)
if debitedAt >= 0 and debitedAt + terms.window <= now then return end
local view = read(terms, key)
if #view.head == 0 then return end
if view.jumped then mend(view, key) end
if debitedAt >= 0 then giveOldest(terms, view, key) else giveNewest(terms, view, key) end
end
end
local plans = cjson.decode(ARGV[2])
local numbers = ARGV[3] and cjson.decode(ARGV[3])
local keys = #KEYS
if keys > 1 and algorithms[plans[1][3]].inString then
local values = call("MGET", spread(KEYS))
for i = 1, keys do strings[KEYS[i]] = values[i] end
end
local reply = { now }
local asks, used = 0, 0
local function spendOrPeek(plan, parts)
local spend = plan[1] == "spend"
local count = plan[2]
local first = #reply + 1
local granted
if parts == 1 then
granted = algorithms[plan[3]].step(plan[4], KEYS[used + 1], count, nil, spend, reply)
else
granted = count
for part = 1, parts do
granted = algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], KEYS[used + part], granted, nil, false)
end
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], KEYS[used + part], count, granted, spend, reply)
end
end
if granted < count then
reply[first] = -1 - reply[first]
if count > 1 then reply[#reply + 1] = granted end
end
end
local function giveBack(plan, parts)
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], KEYS[used + part], 1, nil, false)
end
for part = 1, parts do
algorithms[plan[part * 2 + 1]].give(plan[part * 2 + 2], KEYS[used + part], plan[2])
end
reply[#reply + 1] = 0
end
local function forget(parts)
for part = 1, parts do
call("DEL", KEYS[used + part])
strings[KEYS[used + part]] = nil
end
reply[#reply + 1] = 0
end
local told = 1
local function answerTheRest()
while used < keys do
local plan = plans[numbers and numbers[asks + 1] or 1]
local parts = #plan / 2 - 1
told = #reply
if plan[1] == "give" then
giveBack(plan, parts)
elseif plan[1] == "forget" then
forget(parts)
else
spendOrPeek(plan, parts)
end
asks = asks + 1
used = used + parts
end
end
while used < keys do
local done, wrong = pcall(answerTheRest)
if not done then
for extra = #reply, told + 1, -1 do reply[extra] = nil end
reply[told + 1] = { type(wrong) == "table" and wrong.err or wrong }
asks = asks + 1
used = used + #plans[numbers and numbers[asks] or 1] / 2 - 1
end
end
return reply`,
  },
} as const
