// Made by scripts/embed-lua.mjs from the Lua files: do not edit.
export const scripts = {
  ask: {
    sha: "a70a8611baba212f5b2cca3d3f248e0e828f8a1c",
    source: `local algorithms = {}
local call = redis.call
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local spread = unpack
local pack, unpack = struct.pack, struct.unpack
local GRACE = 1000000
local now = tonumber(ARGV[1])
local slackMs = now and 60900 or 900
if not now then
local time = call("TIME")
now = time[1] * 1000000 + time[2]
end
local function ttl(expiresAt)
return max(ceil((expiresAt - now) / 1000), 0) + slackMs
end
local strings = {}
local function prefetch(keys)
local values = call("MGET", spread(keys))
for i = 1, #keys do strings[keys[i]] = values[i] end
end
local function get(key)
local value = strings[key] or call("GET", key)
strings[key] = value
return value
end
local function set(key, value, expiresAt)
call("SET", key, value, "PX", ttl(expiresAt))
strings[key] = value
end
local function del(key)
call("DEL", key)
strings[key] = nil
end
do
local bucket = { arity = 8, inString = true }
algorithms.bucket = bucket
function bucket.terms(at)
return {
parts = ARGV[at] + 0,
span = ARGV[at + 1] + 0,
spanPart = ARGV[at + 2] + 0,
cost = ARGV[at + 3] + 0,
costPart = ARGV[at + 4] + 0,
reach = ARGV[at + 5] + 0,
step = ARGV[at + 6] + 0,
life = ARGV[at + 7] + 0,
}
end
local function unpacked(value)
local full, reach = unpack(">i7I5", value)
local part, parts, anchor, lapsesAt = 0, 1, nil, 0
local size = #value
if size == 22 or size == 36 then part, parts = unpack(">I5I5", value, 13) end
if size == 26 or size == 36 then anchor, lapsesAt = unpack(">i7I7", value, size - 13) end
return full, reach, part, parts, anchor, lapsesAt
end
local function keep(terms, view, key, reach, lapsesAt)
local full = view.at + view.ahead
local value = pack(">i7I5", full, reach)
if view.part > 0 then value = value .. pack(">I5I5", view.part, terms.parts) end
if view.anchor then value = value .. pack(">i7I7", view.anchor, lapsesAt) end
set(key, value, max(full + 1, view.anchor and lapsesAt or 0))
end
local function rescaled(part, from, to)
if part == 0 or from == to then return part end
local product = part * to
return product + from <= 9007199254740991 and floor((product + from - 1) / from) or to
end
function bucket.read(terms, key)
local step = terms.step
local value = get(key)
if not value then
local anchor = step > 0 and now or nil
return { at = now, ahead = 0, part = 0, reach = terms.reach, anchor = anchor, lapsesAt = 0 }
end
local full, reach, part, parts, anchor, lapsesAt = unpacked(value)
part = rescaled(part, parts, terms.parts)
if part == terms.parts then
full = full + 1
part = 0
end
local jumped = full - now > reach * 1000 + max(reach * 1000, GRACE)
if jumped then
full = now + reach * 1000
part = 0
anchor = nil
lapsesAt = 0
end
local at = now
if step > 0 then
anchor = anchor or full
at = anchor + floor((now - anchor) / step) * step
end
local spent = full > at or (full == at and part > 0)
if not spent and now >= lapsesAt then
at = now
anchor = step > 0 and now or nil
end
if not spent then
full = at
part = 0
end
return {
at = at, ahead = full - at, part = part, reach = reach, anchor = anchor, lapsesAt = lapsesAt, jumped = jumped,
}
end
function bucket.room(terms, view, count)
local parts, cost, costPart = terms.parts, terms.cost, terms.costPart
local whole = terms.span - view.ahead
local rest = terms.spanPart - view.part
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
function bucket.take(terms, view, granted, key)
local parts = terms.parts
local pieces = granted * terms.costPart
local carry = floor(pieces / parts)
view.ahead = view.ahead + granted * terms.cost + carry
view.part = view.part + pieces - carry * parts
if view.part >= parts then
view.part = view.part - parts
view.ahead = view.ahead + 1
end
keep(terms, view, key, terms.reach, max(view.lapsesAt, now + terms.life))
end
function bucket.give(terms, view, key)
view.ahead = view.ahead - terms.cost
view.part = view.part - terms.costPart
if view.part < 0 then
view.part = view.part + terms.parts
view.ahead = view.ahead - 1
end
if view.ahead < 0 or (view.ahead == 0 and view.part == 0) then
view.ahead = 0
view.part = 0
if view.lapsesAt <= now then
del(key)
return
end
end
keep(terms, view, key, view.reach, view.lapsesAt)
end
function bucket.mend(terms, view, key)
if view.jumped then keep(terms, view, key, view.reach, view.lapsesAt) end
end
function bucket.tell(terms, view, _, reply)
reply[#reply + 1] = view.ahead
if terms.parts > 1 or terms.step > 0 then reply[#reply + 1] = view.part end
if terms.step > 0 then reply[#reply + 1] = now - view.at end
end
end
do
local fixedWindow = { arity = 4, inString = true }
algorithms.fixedWindow = fixedWindow
function fixedWindow.terms(at)
return {
limit = ARGV[at] + 0,
window = ARGV[at + 1] + 0,
aligned = ARGV[at + 2] + 0,
cost = ARGV[at + 3] + 0,
}
end
local function keep(view, key)
local value = pack(">I7I7I6I5", view.start, view.stop, view.used, view.reach)
set(key, value, view.stop)
end
function fixedWindow.read(_, key)
local value = get(key)
local start, stop, used, reach
if value then start, stop, used, reach = unpack(">I7I7I6I5", value) end
if not value or stop <= now then return { start = now, stop = now, used = 0, reach = 0 } end
local jumped = stop - now > reach * 1000 + max(reach * 1000, GRACE)
if jumped then return { start = now, stop = now + reach * 1000, used = used, reach = reach, jumped = true } end
return { start = start, stop = stop, used = used, reach = reach }
end
function fixedWindow.room(terms, view, count)
local room = floor((terms.limit - view.used) / terms.cost)
return min(count, max(room, 0))
end
function fixedWindow.take(terms, view, granted, key)
local window = terms.window
if terms.aligned == 1 then
view.stop = max(view.stop, (floor(now / window) + 1) * window)
elseif view.stop - view.start < window then
view.stop = max(view.stop, now + window)
end
view.reach = max(view.reach, window / 1000)
view.used = view.used + granted * terms.cost
keep(view, key)
end
function fixedWindow.give(terms, view, key)
view.used = max(view.used - terms.cost, 0)
if view.used == 0 then del(key) else keep(view, key) end
end
function fixedWindow.mend(_, view, key)
if view.jumped then keep(view, key) end
end
function fixedWindow.tell(_, view, _, reply)
reply[#reply + 1] = view.used
reply[#reply + 1] = view.stop - now
end
end
do
local log = { arity = 4 }
algorithms.log = log
function log.terms(at)
return {
limit = ARGV[at] + 0,
window = ARGV[at + 1] + 0,
merge = ARGV[at + 2] + 0,
cost = ARGV[at + 3] + 0,
}
end
local WRAP = 281474976710656
local PRUNE = 32
local function packed(at, sum, till) return pack(">I7I6I6", at, sum, till) end
local BASE = packed(0, 0, 0)
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
function log.read(terms, key)
local head = call("LRANGE", key, 0, 2)
if #head == 0 then return { first = 1, base = 0, total = 0, last = 0, sum = 0, till = 0 } end
local newest = entryAt(key, -1)
local last, sum, till = newest.at, newest.sum, newest.till
local reach = till * 1000 - last
local jumped = last - now > max(reach, GRACE)
local before, first
if jumped then
before = around(key, head, newest, function(each) return each.till end, floor(last / 1000) + 1)
else
before, first = around(key, head, newest, function(each) return each.at end, now - terms.window + 1)
end
local base = before.sum
local total = units(sum, base)
if not jumped then
return {
head = head, first = before.index + 1, firstEntry = first, base = base, total = total,
last = last, sum = sum, till = till,
}
end
till = ceil((now + reach) / 1000)
return {
head = head, first = 1, firstEntry = { index = 1, at = now, sum = total, till = till }, base = 0, total = total,
last = now, sum = total, till = till, jumped = true,
}
end
function log.room(terms, view, count)
local room = floor((terms.limit - view.total) / terms.cost)
return min(count, max(room, 0))
end
local function prune(key, view)
local most = min(view.first - 1, PRUNE)
if most == 0 then return end
local old = most < #view.head and view.head or call("LRANGE", key, 0, most)
local gone = 0
while gone < most and entry(nil, old[gone + 2]).till * 1000 <= now do gone = gone + 1 end
if gone > 0 then call("LPOP", key, gone) end
end
function log.take(terms, view, granted, key)
log.mend(terms, view, key)
local at = max(now, view.last)
local sum = (view.sum + granted * terms.cost) % WRAP
local till = max(ceil((at + terms.window) / 1000), view.till)
local ownWindow = view.till >= ceil((view.last + terms.window) / 1000)
local sameSubWindow = floor(view.last / terms.merge) == floor(at / terms.merge)
if not view.head then
call("RPUSH", key, BASE, packed(at, sum, till))
elseif view.total > 0 and ownWindow and sameSubWindow then
call("LSET", key, -1, packed(at, sum, till))
else
call("RPUSH", key, packed(at, sum, till))
end
if view.head then prune(key, view) end
call("PEXPIRE", key, ttl(till * 1000))
view.total = view.total + granted * terms.cost
view.last = at
end
local function reaching(key, view, amount)
local function spent(each) return units(each.sum, view.base) end
if spent(view.firstEntry) >= amount then return view.firstEntry end
local size = call("LLEN", key)
local newest = { index = size - 1, at = view.last, sum = view.sum, till = view.till }
return search(key, spent, amount, view.firstEntry, newest)
end
function log.give(terms, view, key)
if not view.head then return end
log.mend(terms, view, key)
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
call("PEXPIRE", key, ttl(newest.till * 1000))
end
end
function log.mend(_, view, key)
if not view.jumped then return end
call("DEL", key)
call("RPUSH", key, BASE, packed(view.last, view.sum, view.till))
call("PEXPIRE", key, ttl(view.till * 1000))
end
local function wait(terms, view, key)
local excess = view.total + terms.cost - terms.limit
if terms.cost > terms.limit or excess <= 0 then return 0 end
return reaching(key, view, excess).at + terms.window - now
end
function log.tell(terms, view, granted, reply, key)
reply[#reply + 1] = view.total
reply[#reply + 1] = granted and 0 or wait(terms, view, key)
reply[#reply + 1] = view.total > 0 and view.last + terms.window - now or 0
end
end
local at = 3
local function readPlan()
local parts = ARGV[at] + 0
local plan = { count = ARGV[at + 1] + 0, mode = ARGV[at + 2] }
at = at + 3
for part = 1, parts do
local algorithm = algorithms[ARGV[at]]
plan[part] = { algorithm = algorithm, terms = algorithm.terms(at + 1) }
at = at + 1 + algorithm.arity
end
return plan
end
local plans = {}
for number = 1, ARGV[2] + 0 do plans[number] = readPlan() end
if #KEYS > 1 and plans[1][1].algorithm.inString then prefetch(KEYS) end
local function readParts(plan, used)
local views = {}
for part = 1, #plan do views[part] = plan[part].algorithm.read(plan[part].terms, KEYS[used + part]) end
return views
end
local reply = {}
local function spendOrPeek(plan, used)
local views = readParts(plan, used)
local granted = plan.count
for part = 1, #plan do
granted = min(granted, plan[part].algorithm.room(plan[part].terms, views[part], granted))
end
reply[#reply + 1] = granted
for part = 1, #plan do
local algorithm, terms, view = plan[part].algorithm, plan[part].terms, views[part]
local key = KEYS[used + part]
if plan.mode == "spend" then
if granted > 0 then algorithm.take(terms, view, granted, key) else algorithm.mend(terms, view, key) end
end
algorithm.tell(terms, view, granted > 0, reply, key)
end
end
local function giveBack(plan, used)
local views = readParts(plan, used)
reply[#reply + 1] = 0
for part = 1, #plan do plan[part].algorithm.give(plan[part].terms, views[part], KEYS[used + part]) end
end
local function forget(plan, used)
for part = 1, #plan do del(KEYS[used + part]) end
reply[#reply + 1] = 0
end
local modes = { spend = spendOrPeek, peek = spendOrPeek, give = giveBack, forget = forget }
local used = 0
while used < #KEYS do
local plan = plans[1]
if #plans > 1 then
plan = plans[ARGV[at] + 0]
at = at + 1
end
local told = #reply
local done, wrong = pcall(modes[plan.mode], plan, used)
if not done then
for extra = #reply, told + 1, -1 do reply[extra] = nil end
reply[told + 1] = -1
reply[told + 2] = type(wrong) == "table" and wrong.err or wrong
end
used = used + #plan
end
return reply`,
  },
  bucket: {
    sha: "88d4f05a9e89567d91be3db42037fbf8d0616024",
    source: `local algorithms = {}
local call = redis.call
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local spread = unpack
local pack, unpack = struct.pack, struct.unpack
local GRACE = 1000000
local now = tonumber(ARGV[1])
local slackMs = now and 60900 or 900
if not now then
local time = call("TIME")
now = time[1] * 1000000 + time[2]
end
local function ttl(expiresAt)
return max(ceil((expiresAt - now) / 1000), 0) + slackMs
end
local strings = {}
local function prefetch(keys)
local values = call("MGET", spread(keys))
for i = 1, #keys do strings[keys[i]] = values[i] end
end
local function get(key)
local value = strings[key] or call("GET", key)
strings[key] = value
return value
end
local function set(key, value, expiresAt)
call("SET", key, value, "PX", ttl(expiresAt))
strings[key] = value
end
local function del(key)
call("DEL", key)
strings[key] = nil
end
do
local bucket = { arity = 8, inString = true }
algorithms.bucket = bucket
function bucket.terms(at)
return {
parts = ARGV[at] + 0,
span = ARGV[at + 1] + 0,
spanPart = ARGV[at + 2] + 0,
cost = ARGV[at + 3] + 0,
costPart = ARGV[at + 4] + 0,
reach = ARGV[at + 5] + 0,
step = ARGV[at + 6] + 0,
life = ARGV[at + 7] + 0,
}
end
local function unpacked(value)
local full, reach = unpack(">i7I5", value)
local part, parts, anchor, lapsesAt = 0, 1, nil, 0
local size = #value
if size == 22 or size == 36 then part, parts = unpack(">I5I5", value, 13) end
if size == 26 or size == 36 then anchor, lapsesAt = unpack(">i7I7", value, size - 13) end
return full, reach, part, parts, anchor, lapsesAt
end
local function keep(terms, view, key, reach, lapsesAt)
local full = view.at + view.ahead
local value = pack(">i7I5", full, reach)
if view.part > 0 then value = value .. pack(">I5I5", view.part, terms.parts) end
if view.anchor then value = value .. pack(">i7I7", view.anchor, lapsesAt) end
set(key, value, max(full + 1, view.anchor and lapsesAt or 0))
end
local function rescaled(part, from, to)
if part == 0 or from == to then return part end
local product = part * to
return product + from <= 9007199254740991 and floor((product + from - 1) / from) or to
end
function bucket.read(terms, key)
local step = terms.step
local value = get(key)
if not value then
local anchor = step > 0 and now or nil
return { at = now, ahead = 0, part = 0, reach = terms.reach, anchor = anchor, lapsesAt = 0 }
end
local full, reach, part, parts, anchor, lapsesAt = unpacked(value)
part = rescaled(part, parts, terms.parts)
if part == terms.parts then
full = full + 1
part = 0
end
local jumped = full - now > reach * 1000 + max(reach * 1000, GRACE)
if jumped then
full = now + reach * 1000
part = 0
anchor = nil
lapsesAt = 0
end
local at = now
if step > 0 then
anchor = anchor or full
at = anchor + floor((now - anchor) / step) * step
end
local spent = full > at or (full == at and part > 0)
if not spent and now >= lapsesAt then
at = now
anchor = step > 0 and now or nil
end
if not spent then
full = at
part = 0
end
return {
at = at, ahead = full - at, part = part, reach = reach, anchor = anchor, lapsesAt = lapsesAt, jumped = jumped,
}
end
function bucket.room(terms, view, count)
local parts, cost, costPart = terms.parts, terms.cost, terms.costPart
local whole = terms.span - view.ahead
local rest = terms.spanPart - view.part
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
function bucket.take(terms, view, granted, key)
local parts = terms.parts
local pieces = granted * terms.costPart
local carry = floor(pieces / parts)
view.ahead = view.ahead + granted * terms.cost + carry
view.part = view.part + pieces - carry * parts
if view.part >= parts then
view.part = view.part - parts
view.ahead = view.ahead + 1
end
keep(terms, view, key, terms.reach, max(view.lapsesAt, now + terms.life))
end
function bucket.give(terms, view, key)
view.ahead = view.ahead - terms.cost
view.part = view.part - terms.costPart
if view.part < 0 then
view.part = view.part + terms.parts
view.ahead = view.ahead - 1
end
if view.ahead < 0 or (view.ahead == 0 and view.part == 0) then
view.ahead = 0
view.part = 0
if view.lapsesAt <= now then
del(key)
return
end
end
keep(terms, view, key, view.reach, view.lapsesAt)
end
function bucket.mend(terms, view, key)
if view.jumped then keep(terms, view, key, view.reach, view.lapsesAt) end
end
function bucket.tell(terms, view, _, reply)
reply[#reply + 1] = view.ahead
if terms.parts > 1 or terms.step > 0 then reply[#reply + 1] = view.part end
if terms.step > 0 then reply[#reply + 1] = now - view.at end
end
end
local at = 3
local function readPlan()
local parts = ARGV[at] + 0
local plan = { count = ARGV[at + 1] + 0, mode = ARGV[at + 2] }
at = at + 3
for part = 1, parts do
local algorithm = algorithms[ARGV[at]]
plan[part] = { algorithm = algorithm, terms = algorithm.terms(at + 1) }
at = at + 1 + algorithm.arity
end
return plan
end
local plans = {}
for number = 1, ARGV[2] + 0 do plans[number] = readPlan() end
if #KEYS > 1 and plans[1][1].algorithm.inString then prefetch(KEYS) end
local function readParts(plan, used)
local views = {}
for part = 1, #plan do views[part] = plan[part].algorithm.read(plan[part].terms, KEYS[used + part]) end
return views
end
local reply = {}
local function spendOrPeek(plan, used)
local views = readParts(plan, used)
local granted = plan.count
for part = 1, #plan do
granted = min(granted, plan[part].algorithm.room(plan[part].terms, views[part], granted))
end
reply[#reply + 1] = granted
for part = 1, #plan do
local algorithm, terms, view = plan[part].algorithm, plan[part].terms, views[part]
local key = KEYS[used + part]
if plan.mode == "spend" then
if granted > 0 then algorithm.take(terms, view, granted, key) else algorithm.mend(terms, view, key) end
end
algorithm.tell(terms, view, granted > 0, reply, key)
end
end
local function giveBack(plan, used)
local views = readParts(plan, used)
reply[#reply + 1] = 0
for part = 1, #plan do plan[part].algorithm.give(plan[part].terms, views[part], KEYS[used + part]) end
end
local function forget(plan, used)
for part = 1, #plan do del(KEYS[used + part]) end
reply[#reply + 1] = 0
end
local modes = { spend = spendOrPeek, peek = spendOrPeek, give = giveBack, forget = forget }
local used = 0
while used < #KEYS do
local plan = plans[1]
if #plans > 1 then
plan = plans[ARGV[at] + 0]
at = at + 1
end
local told = #reply
local done, wrong = pcall(modes[plan.mode], plan, used)
if not done then
for extra = #reply, told + 1, -1 do reply[extra] = nil end
reply[told + 1] = -1
reply[told + 2] = type(wrong) == "table" and wrong.err or wrong
end
used = used + #plan
end
return reply`,
  },
  fixedWindow: {
    sha: "a9f7b3a612f495f23727d227cc59b91cc9d4c010",
    source: `local algorithms = {}
local call = redis.call
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local spread = unpack
local pack, unpack = struct.pack, struct.unpack
local GRACE = 1000000
local now = tonumber(ARGV[1])
local slackMs = now and 60900 or 900
if not now then
local time = call("TIME")
now = time[1] * 1000000 + time[2]
end
local function ttl(expiresAt)
return max(ceil((expiresAt - now) / 1000), 0) + slackMs
end
local strings = {}
local function prefetch(keys)
local values = call("MGET", spread(keys))
for i = 1, #keys do strings[keys[i]] = values[i] end
end
local function get(key)
local value = strings[key] or call("GET", key)
strings[key] = value
return value
end
local function set(key, value, expiresAt)
call("SET", key, value, "PX", ttl(expiresAt))
strings[key] = value
end
local function del(key)
call("DEL", key)
strings[key] = nil
end
do
local fixedWindow = { arity = 4, inString = true }
algorithms.fixedWindow = fixedWindow
function fixedWindow.terms(at)
return {
limit = ARGV[at] + 0,
window = ARGV[at + 1] + 0,
aligned = ARGV[at + 2] + 0,
cost = ARGV[at + 3] + 0,
}
end
local function keep(view, key)
local value = pack(">I7I7I6I5", view.start, view.stop, view.used, view.reach)
set(key, value, view.stop)
end
function fixedWindow.read(_, key)
local value = get(key)
local start, stop, used, reach
if value then start, stop, used, reach = unpack(">I7I7I6I5", value) end
if not value or stop <= now then return { start = now, stop = now, used = 0, reach = 0 } end
local jumped = stop - now > reach * 1000 + max(reach * 1000, GRACE)
if jumped then return { start = now, stop = now + reach * 1000, used = used, reach = reach, jumped = true } end
return { start = start, stop = stop, used = used, reach = reach }
end
function fixedWindow.room(terms, view, count)
local room = floor((terms.limit - view.used) / terms.cost)
return min(count, max(room, 0))
end
function fixedWindow.take(terms, view, granted, key)
local window = terms.window
if terms.aligned == 1 then
view.stop = max(view.stop, (floor(now / window) + 1) * window)
elseif view.stop - view.start < window then
view.stop = max(view.stop, now + window)
end
view.reach = max(view.reach, window / 1000)
view.used = view.used + granted * terms.cost
keep(view, key)
end
function fixedWindow.give(terms, view, key)
view.used = max(view.used - terms.cost, 0)
if view.used == 0 then del(key) else keep(view, key) end
end
function fixedWindow.mend(_, view, key)
if view.jumped then keep(view, key) end
end
function fixedWindow.tell(_, view, _, reply)
reply[#reply + 1] = view.used
reply[#reply + 1] = view.stop - now
end
end
local at = 3
local function readPlan()
local parts = ARGV[at] + 0
local plan = { count = ARGV[at + 1] + 0, mode = ARGV[at + 2] }
at = at + 3
for part = 1, parts do
local algorithm = algorithms[ARGV[at]]
plan[part] = { algorithm = algorithm, terms = algorithm.terms(at + 1) }
at = at + 1 + algorithm.arity
end
return plan
end
local plans = {}
for number = 1, ARGV[2] + 0 do plans[number] = readPlan() end
if #KEYS > 1 and plans[1][1].algorithm.inString then prefetch(KEYS) end
local function readParts(plan, used)
local views = {}
for part = 1, #plan do views[part] = plan[part].algorithm.read(plan[part].terms, KEYS[used + part]) end
return views
end
local reply = {}
local function spendOrPeek(plan, used)
local views = readParts(plan, used)
local granted = plan.count
for part = 1, #plan do
granted = min(granted, plan[part].algorithm.room(plan[part].terms, views[part], granted))
end
reply[#reply + 1] = granted
for part = 1, #plan do
local algorithm, terms, view = plan[part].algorithm, plan[part].terms, views[part]
local key = KEYS[used + part]
if plan.mode == "spend" then
if granted > 0 then algorithm.take(terms, view, granted, key) else algorithm.mend(terms, view, key) end
end
algorithm.tell(terms, view, granted > 0, reply, key)
end
end
local function giveBack(plan, used)
local views = readParts(plan, used)
reply[#reply + 1] = 0
for part = 1, #plan do plan[part].algorithm.give(plan[part].terms, views[part], KEYS[used + part]) end
end
local function forget(plan, used)
for part = 1, #plan do del(KEYS[used + part]) end
reply[#reply + 1] = 0
end
local modes = { spend = spendOrPeek, peek = spendOrPeek, give = giveBack, forget = forget }
local used = 0
while used < #KEYS do
local plan = plans[1]
if #plans > 1 then
plan = plans[ARGV[at] + 0]
at = at + 1
end
local told = #reply
local done, wrong = pcall(modes[plan.mode], plan, used)
if not done then
for extra = #reply, told + 1, -1 do reply[extra] = nil end
reply[told + 1] = -1
reply[told + 2] = type(wrong) == "table" and wrong.err or wrong
end
used = used + #plan
end
return reply`,
  },
  log: {
    sha: "9c9a396dcb709861dd5e78894af378df48a0d1a1",
    source: `local algorithms = {}
local call = redis.call
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local spread = unpack
local pack, unpack = struct.pack, struct.unpack
local GRACE = 1000000
local now = tonumber(ARGV[1])
local slackMs = now and 60900 or 900
if not now then
local time = call("TIME")
now = time[1] * 1000000 + time[2]
end
local function ttl(expiresAt)
return max(ceil((expiresAt - now) / 1000), 0) + slackMs
end
local strings = {}
local function prefetch(keys)
local values = call("MGET", spread(keys))
for i = 1, #keys do strings[keys[i]] = values[i] end
end
local function get(key)
local value = strings[key] or call("GET", key)
strings[key] = value
return value
end
local function set(key, value, expiresAt)
call("SET", key, value, "PX", ttl(expiresAt))
strings[key] = value
end
local function del(key)
call("DEL", key)
strings[key] = nil
end
do
local log = { arity = 4 }
algorithms.log = log
function log.terms(at)
return {
limit = ARGV[at] + 0,
window = ARGV[at + 1] + 0,
merge = ARGV[at + 2] + 0,
cost = ARGV[at + 3] + 0,
}
end
local WRAP = 281474976710656
local PRUNE = 32
local function packed(at, sum, till) return pack(">I7I6I6", at, sum, till) end
local BASE = packed(0, 0, 0)
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
function log.read(terms, key)
local head = call("LRANGE", key, 0, 2)
if #head == 0 then return { first = 1, base = 0, total = 0, last = 0, sum = 0, till = 0 } end
local newest = entryAt(key, -1)
local last, sum, till = newest.at, newest.sum, newest.till
local reach = till * 1000 - last
local jumped = last - now > max(reach, GRACE)
local before, first
if jumped then
before = around(key, head, newest, function(each) return each.till end, floor(last / 1000) + 1)
else
before, first = around(key, head, newest, function(each) return each.at end, now - terms.window + 1)
end
local base = before.sum
local total = units(sum, base)
if not jumped then
return {
head = head, first = before.index + 1, firstEntry = first, base = base, total = total,
last = last, sum = sum, till = till,
}
end
till = ceil((now + reach) / 1000)
return {
head = head, first = 1, firstEntry = { index = 1, at = now, sum = total, till = till }, base = 0, total = total,
last = now, sum = total, till = till, jumped = true,
}
end
function log.room(terms, view, count)
local room = floor((terms.limit - view.total) / terms.cost)
return min(count, max(room, 0))
end
local function prune(key, view)
local most = min(view.first - 1, PRUNE)
if most == 0 then return end
local old = most < #view.head and view.head or call("LRANGE", key, 0, most)
local gone = 0
while gone < most and entry(nil, old[gone + 2]).till * 1000 <= now do gone = gone + 1 end
if gone > 0 then call("LPOP", key, gone) end
end
function log.take(terms, view, granted, key)
log.mend(terms, view, key)
local at = max(now, view.last)
local sum = (view.sum + granted * terms.cost) % WRAP
local till = max(ceil((at + terms.window) / 1000), view.till)
local ownWindow = view.till >= ceil((view.last + terms.window) / 1000)
local sameSubWindow = floor(view.last / terms.merge) == floor(at / terms.merge)
if not view.head then
call("RPUSH", key, BASE, packed(at, sum, till))
elseif view.total > 0 and ownWindow and sameSubWindow then
call("LSET", key, -1, packed(at, sum, till))
else
call("RPUSH", key, packed(at, sum, till))
end
if view.head then prune(key, view) end
call("PEXPIRE", key, ttl(till * 1000))
view.total = view.total + granted * terms.cost
view.last = at
end
local function reaching(key, view, amount)
local function spent(each) return units(each.sum, view.base) end
if spent(view.firstEntry) >= amount then return view.firstEntry end
local size = call("LLEN", key)
local newest = { index = size - 1, at = view.last, sum = view.sum, till = view.till }
return search(key, spent, amount, view.firstEntry, newest)
end
function log.give(terms, view, key)
if not view.head then return end
log.mend(terms, view, key)
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
call("PEXPIRE", key, ttl(newest.till * 1000))
end
end
function log.mend(_, view, key)
if not view.jumped then return end
call("DEL", key)
call("RPUSH", key, BASE, packed(view.last, view.sum, view.till))
call("PEXPIRE", key, ttl(view.till * 1000))
end
local function wait(terms, view, key)
local excess = view.total + terms.cost - terms.limit
if terms.cost > terms.limit or excess <= 0 then return 0 end
return reaching(key, view, excess).at + terms.window - now
end
function log.tell(terms, view, granted, reply, key)
reply[#reply + 1] = view.total
reply[#reply + 1] = granted and 0 or wait(terms, view, key)
reply[#reply + 1] = view.total > 0 and view.last + terms.window - now or 0
end
end
local at = 3
local function readPlan()
local parts = ARGV[at] + 0
local plan = { count = ARGV[at + 1] + 0, mode = ARGV[at + 2] }
at = at + 3
for part = 1, parts do
local algorithm = algorithms[ARGV[at]]
plan[part] = { algorithm = algorithm, terms = algorithm.terms(at + 1) }
at = at + 1 + algorithm.arity
end
return plan
end
local plans = {}
for number = 1, ARGV[2] + 0 do plans[number] = readPlan() end
if #KEYS > 1 and plans[1][1].algorithm.inString then prefetch(KEYS) end
local function readParts(plan, used)
local views = {}
for part = 1, #plan do views[part] = plan[part].algorithm.read(plan[part].terms, KEYS[used + part]) end
return views
end
local reply = {}
local function spendOrPeek(plan, used)
local views = readParts(plan, used)
local granted = plan.count
for part = 1, #plan do
granted = min(granted, plan[part].algorithm.room(plan[part].terms, views[part], granted))
end
reply[#reply + 1] = granted
for part = 1, #plan do
local algorithm, terms, view = plan[part].algorithm, plan[part].terms, views[part]
local key = KEYS[used + part]
if plan.mode == "spend" then
if granted > 0 then algorithm.take(terms, view, granted, key) else algorithm.mend(terms, view, key) end
end
algorithm.tell(terms, view, granted > 0, reply, key)
end
end
local function giveBack(plan, used)
local views = readParts(plan, used)
reply[#reply + 1] = 0
for part = 1, #plan do plan[part].algorithm.give(plan[part].terms, views[part], KEYS[used + part]) end
end
local function forget(plan, used)
for part = 1, #plan do del(KEYS[used + part]) end
reply[#reply + 1] = 0
end
local modes = { spend = spendOrPeek, peek = spendOrPeek, give = giveBack, forget = forget }
local used = 0
while used < #KEYS do
local plan = plans[1]
if #plans > 1 then
plan = plans[ARGV[at] + 0]
at = at + 1
end
local told = #reply
local done, wrong = pcall(modes[plan.mode], plan, used)
if not done then
for extra = #reply, told + 1, -1 do reply[extra] = nil end
reply[told + 1] = -1
reply[told + 2] = type(wrong) == "table" and wrong.err or wrong
end
used = used + #plan
end
return reply`,
  },
} as const
