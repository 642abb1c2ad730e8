// Made by scripts/embed-lua.mjs from the Lua files: do not edit.

export const ask = {
  sha: "5381353987b74e3e693ffe92a6af3f7e8cd49e6b",
  source: `local algorithms = {}
local GRACE = 1000000
local now = tonumber(ARGV[1])
local slackMs = now and 60900 or 900
if not now then
local time = redis.call("TIME")
now = time[1] * 1000000 + time[2]
end
local function ttl(expiresAt)
return math.max(math.ceil((expiresAt - now) / 1000), 0) + slackMs
end
do
local bucket = { sent = { "parts", "span", "spanPart", "cost", "costPart", "reach", "step", "life" } }
algorithms.bucket = bucket
local function unpacked(value)
local full, reach = struct.unpack(">I7I5", value)
local part, parts, anchor, lapsesAt = 0, 1, nil, 0
local size = #value
if size == 22 or size == 36 then part, parts = struct.unpack(">I5I5", value, 13) end
if size == 26 or size == 36 then anchor, lapsesAt = struct.unpack(">I7I7", value, size - 13) end
return full, reach, part, parts, anchor, lapsesAt
end
local function keep(terms, view, key, reach, lapsesAt)
local full = view.at + view.ahead
local value = struct.pack(">I7I5", full, reach)
if view.part > 0 then value = value .. struct.pack(">I5I5", view.part, terms.parts) end
if view.anchor then value = value .. struct.pack(">I7I7", view.anchor, lapsesAt) end
redis.call("SET", key, value, "PX", ttl(math.max(full + 1, view.anchor and lapsesAt or 0)))
end
local function rescaled(part, from, to)
if part == 0 or from == to then return part end
local product = part * to
return product + from <= 9007199254740991 and math.floor((product + from - 1) / from) or to
end
function bucket.read(terms, key)
local step = terms.step
local value = redis.call("GET", key)
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
local jumped = full - now > reach * 1000 + math.max(reach * 1000, GRACE)
if jumped then
full = now + reach * 1000
part = 0
anchor = nil
lapsesAt = 0
end
local at = now
if step > 0 then
anchor = anchor or full
at = anchor + math.floor((now - anchor) / step) * step
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
local function fits(k)
local pieces = k * costPart
local carry = math.floor(pieces / parts)
local needed = k * cost + carry
return needed < whole or (needed == whole and pieces - carry * parts <= rest)
end
if whole < 0 then return 0 end
if count == 1 then return fits(1) and 1 or 0 end
local most = math.min(count, math.floor(9007199254740991 / parts))
local k = math.min(most, math.floor((whole + rest / parts) / (cost + costPart / parts)))
while k > 0 and not fits(k) do k = k - 1 end
while k < most and fits(k + 1) do k = k + 1 end
return k
end
function bucket.take(terms, view, granted, key)
local parts = terms.parts
local pieces = granted * terms.costPart
local carry = math.floor(pieces / parts)
view.ahead = view.ahead + granted * terms.cost + carry
view.part = view.part + pieces - carry * parts
if view.part >= parts then
view.part = view.part - parts
view.ahead = view.ahead + 1
end
keep(terms, view, key, terms.reach, math.max(view.lapsesAt, now + terms.life))
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
redis.call("DEL", key)
return
end
end
keep(terms, view, key, view.reach, view.lapsesAt)
end
function bucket.mend(terms, view, key)
if view.jumped then keep(terms, view, key, view.reach, view.lapsesAt) end
end
function bucket.tell(_, view, _, reply)
reply[#reply + 1] = view.ahead
reply[#reply + 1] = view.part
reply[#reply + 1] = now - view.at
end
end
do
local fixedWindow = { sent = { "limit", "window", "aligned", "cost" } }
algorithms.fixedWindow = fixedWindow
local function keep(view, key)
local value = struct.pack(">I7I7I6I5", view.start, view.stop, view.used, view.reach)
redis.call("SET", key, value, "PX", ttl(view.stop))
end
function fixedWindow.read(_, key)
local value = redis.call("GET", key)
local start, stop, used, reach
if value then start, stop, used, reach = struct.unpack(">I7I7I6I5", value) end
if not value or stop <= now then return { start = now, stop = now, used = 0, reach = 0 } end
local jumped = stop - now > reach * 1000 + math.max(reach * 1000, GRACE)
if jumped then return { start = now, stop = now + reach * 1000, used = used, reach = reach, jumped = true } end
return { start = start, stop = stop, used = used, reach = reach }
end
function fixedWindow.room(terms, view, count)
local room = math.floor((terms.limit - view.used) / terms.cost)
return math.min(count, math.max(room, 0))
end
function fixedWindow.take(terms, view, granted, key)
local window = terms.window
if terms.aligned == 1 then
view.stop = math.max(view.stop, (math.floor(now / window) + 1) * window)
elseif view.stop - view.start < window then
view.stop = math.max(view.stop, now + window)
end
view.reach = math.max(view.reach, window / 1000)
view.used = view.used + granted * terms.cost
keep(view, key)
end
function fixedWindow.give(terms, view, key)
view.used = math.max(view.used - terms.cost, 0)
if view.used == 0 then redis.call("DEL", key) else keep(view, key) end
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
local log = { sent = { "limit", "window", "merge", "cost" } }
algorithms.log = log
local WRAP = 281474976710656
local PRUNE = 32
local function pack(at, sum, till) return struct.pack(">I7I6I6", at, sum, till) end
local BASE = pack(0, 0, 0)
local function entry(index, packed)
local at, sum, till = struct.unpack(">I7I6I6", packed)
return { index = index, at = at, sum = sum, till = till }
end
local function entryAt(key, index) return entry(index, redis.call("LINDEX", key, index)) end
local function units(sum, base) return (sum - base + WRAP) % WRAP end
local function search(key, value, target, below, above)
local guess = true
while above.index - below.index > 1 do
local share = guess and (target - value(below)) / (value(above) - value(below)) or 0.5
local index = below.index + math.floor(share * (above.index - below.index))
local probe = entryAt(key, math.max(below.index + 1, math.min(index, above.index - 1)))
if value(probe) >= target then above = probe else below = probe end
guess = not guess
end
return above
end
local function around(key, head, newest, value, target)
local base, first, second = entry(0, head[1]), entry(1, head[2]), head[3] and entry(2, head[3])
if value(first) >= target then return base, first end
if second and value(second) >= target then return first, second end
newest.index = redis.call("LLEN", key) - 1
if value(newest) < target then return newest, nil end
local found = search(key, value, target, second or first, newest)
return entryAt(key, found.index - 1), found
end
function log.read(terms, key)
local head = redis.call("LRANGE", key, 0, 2)
if #head == 0 then return { first = 1, base = 0, total = 0, last = 0, sum = 0, till = 0 } end
local newest = entryAt(key, -1)
local last, sum, till = newest.at, newest.sum, newest.till
local reach = till * 1000 - last
local jumped = last - now > math.max(reach, GRACE)
local before, first
if jumped then
before = around(key, head, newest, function(each) return each.till end, math.floor(last / 1000) + 1)
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
till = math.ceil((now + reach) / 1000)
return {
head = head, first = 1, firstEntry = { index = 1, at = now, sum = total, till = till }, base = 0, total = total,
last = now, sum = total, till = till, jumped = true,
}
end
function log.room(terms, view, count)
local room = math.floor((terms.limit - view.total) / terms.cost)
return math.min(count, math.max(room, 0))
end
local function prune(key, view)
local most = math.min(view.first - 1, PRUNE)
if most == 0 then return end
local old = most < #view.head and view.head or redis.call("LRANGE", key, 0, most)
local gone = 0
while gone < most and entry(nil, old[gone + 2]).till * 1000 <= now do gone = gone + 1 end
if gone > 0 then redis.call("LPOP", key, gone) end
end
function log.take(terms, view, granted, key)
log.mend(terms, view, key)
local at = math.max(now, view.last)
local sum = (view.sum + granted * terms.cost) % WRAP
local till = math.max(math.ceil((at + terms.window) / 1000), view.till)
local ownWindow = view.till >= math.ceil((view.last + terms.window) / 1000)
local sameSubWindow = math.floor(view.last / terms.merge) == math.floor(at / terms.merge)
if not view.head then
redis.call("RPUSH", key, BASE, pack(at, sum, till))
elseif view.total > 0 and ownWindow and sameSubWindow then
redis.call("LSET", key, -1, pack(at, sum, till))
else
redis.call("RPUSH", key, pack(at, sum, till))
end
if view.head then prune(key, view) end
redis.call("PEXPIRE", key, ttl(till * 1000))
view.total = view.total + granted * terms.cost
view.last = at
end
local function reaching(key, view, amount)
local function spent(each) return units(each.sum, view.base) end
if spent(view.firstEntry) >= amount then return view.firstEntry end
local size = redis.call("LLEN", key)
local newest = { index = size - 1, at = view.last, sum = view.sum, till = view.till }
return search(key, spent, amount, view.firstEntry, newest)
end
function log.give(terms, view, key)
if not view.head then return end
log.mend(terms, view, key)
local left = view.total - terms.cost
if left <= 0 then
redis.call("LTRIM", key, 0, view.first - 1)
else
local cut = reaching(key, view, left)
redis.call("LTRIM", key, 0, cut.index)
redis.call("LSET", key, -1, pack(cut.at, (view.base + left) % WRAP, cut.till))
end
local newest = entryAt(key, -1)
if redis.call("LLEN", key) == 1 or newest.till * 1000 <= now then
redis.call("DEL", key)
else
redis.call("PEXPIRE", key, ttl(newest.till * 1000))
end
end
function log.mend(_, view, key)
if not view.jumped then return end
redis.call("DEL", key)
redis.call("RPUSH", key, BASE, pack(view.last, view.sum, view.till))
redis.call("PEXPIRE", key, ttl(view.till * 1000))
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
local parts = tonumber(ARGV[at])
local plan = { count = tonumber(ARGV[at + 1]), mode = ARGV[at + 2] }
at = at + 3
for part = 1, parts do
local algorithm = algorithms[ARGV[at]]
local terms = {}
for i, name in ipairs(algorithm.sent) do terms[name] = tonumber(ARGV[at + i]) end
plan[part] = { algorithm = algorithm, terms = terms }
at = at + 1 + #algorithm.sent
end
return plan
end
local plans = {}
for number = 1, tonumber(ARGV[2]) do plans[number] = readPlan() end
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
granted = math.min(granted, plan[part].algorithm.room(plan[part].terms, views[part], granted))
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
for part = 1, #plan do plan[part].algorithm.give(plan[part].terms, views[part], KEYS[used + part]) end
end
local used = 0
for i = at, #ARGV do
local plan = plans[tonumber(ARGV[i])]
if plan.mode == "give" then giveBack(plan, used) else spendOrPeek(plan, used) end
used = used + #plan
end
return reply`,
} as const

export const forget = {
  sha: "9e04c374fd15234730f2b5c3673d5a92bde5b11f",
  source: `return redis.call("DEL", unpack(KEYS))`,
} as const
