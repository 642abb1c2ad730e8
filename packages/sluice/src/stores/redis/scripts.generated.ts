// Made by scripts/embed-lua.mjs from the Lua files: do not edit.

export const ask = {
  sha: "2920b134dcd14ccb0850dda53e38081d62f6d85f",
  source: `local algorithms = {}
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
local part, parts, anchor = 0, 1, nil
local size = #value
if size == 22 or size == 29 then part, parts = struct.unpack(">I5I5", value, 13) end
if size == 19 or size == 29 then anchor = struct.unpack(">I7", value, size - 6) end
return full, reach, part, parts, anchor
end
local function keep(terms, view, key, reach, anchor)
local full = view.at + view.ahead
local value = struct.pack(">I7I5", full, reach)
if view.part > 0 then value = value .. struct.pack(">I5I5", view.part, terms.parts) end
if anchor then value = value .. struct.pack(">I7", anchor) end
local expiresAt = math.max(full + 1, anchor and anchor + terms.life or 0)
redis.call("SET", key, value, "PX", ttl(expiresAt))
end
function bucket.read(terms, key)
local step = terms.step
local view = { at = now, ahead = 0, part = 0, reach = terms.reach }
local value = redis.call("GET", key)
if not value then return view end
local full, reach, part, parts, anchor = unpacked(value)
if step > 0 and anchor and now < anchor + terms.life then
view.at = anchor + math.floor((now - anchor) / step) * step
view.anchor = math.min(anchor, view.at)
end
local ahead = full - view.at
if part > 0 and parts ~= terms.parts then
ahead = ahead + 1
part = 0
end
if ahead < 0 then
ahead = 0
part = 0
end
view.jumped = ahead > 2 * reach * 1000
if view.jumped then
ahead = reach * 1000
part = 0
end
view.ahead, view.part, view.reach = ahead, part, reach
return view
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
keep(terms, view, key, terms.reach, terms.step > 0 and view.at)
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
if not view.anchor then
redis.call("DEL", key)
return
end
end
keep(terms, view, key, view.reach, view.anchor)
end
function bucket.mend(terms, view, key)
if view.jumped then keep(terms, view, key, view.reach, view.anchor) end
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
local function ownEnd(terms)
local window = terms.window
return terms.aligned == 1 and (math.floor(now / window) + 1) * window or now + window
end
local function keep(view, key)
redis.call("SET", key, struct.pack(">I7I6I5", view.stop, view.used, view.length), "PX", ttl(view.stop))
end
function fixedWindow.read(terms, key)
local value = redis.call("GET", key)
local stop, used, length
if value then stop, used, length = struct.unpack(">I7I6I5", value) end
if not value or stop <= now then
return { stop = ownEnd(terms), used = 0, length = terms.window / 1000 }
end
local jumped = stop - now > 2 * length * 1000
return { stop = jumped and now + length * 1000 or stop, used = used, length = length, jumped = jumped }
end
function fixedWindow.room(terms, view, count)
local room = math.floor((terms.limit - view.used) / terms.cost)
return math.min(count, math.max(room, 0))
end
function fixedWindow.take(terms, view, granted, key)
if view.length * 1000 < terms.window then
view.stop = math.max(view.stop, ownEnd(terms))
view.length = terms.window / 1000
end
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
local BASE = struct.pack(">I7I6I6", 0, 0, 0)
local function entryAt(key, index)
return struct.unpack(">I7I6I6", redis.call("LINDEX", key, index))
end
local function units(sum, base)
return (sum - base + WRAP) % WRAP
end
local function search(key, value, target, below, above)
local guess = true
while above.index - below.index > 1 do
local share = guess and (target - below.value) / (above.value - below.value) or 0.5
local index = below.index + math.floor(share * (above.index - below.index))
index = math.max(below.index + 1, math.min(index, above.index - 1))
local at, sum = entryAt(key, index)
local probe = { index = index, value = value(at, sum), at = at, sum = sum }
if probe.value >= target then above = probe else below = probe end
guess = not guess
end
return above
end
function log.read(terms, key)
local view = { first = 1, base = 0, total = 0, last = 0, sum = 0, till = 0 }
local head = redis.call("LRANGE", key, 0, 2)
if #head == 0 then return view end
local last, sum, till = entryAt(key, -1)
local reach = till * 1000 - last
view.jumped = last - now > reach
local asOf = view.jumped and last or now
local since = asOf - terms.window + 1
view.head, view.last, view.sum, view.till = head, last, sum, till
local _
_, view.base = struct.unpack(">I7I6I6", head[1])
view.firstAt, view.firstSum = struct.unpack(">I7I6I6", head[2])
if view.firstAt < since and head[3] then
local at, sumThere = struct.unpack(">I7I6I6", head[3])
if at >= since then
view.base = view.firstSum
view.first, view.firstAt, view.firstSum = 2, at, sumThere
end
end
if view.firstAt < since then
local size = redis.call("LLEN", key)
if last >= since then
local first = search(key, function(at) return at end, since,
{ index = 1, value = view.firstAt },
{ index = size - 1, value = last, at = last, sum = sum })
view.first, view.firstAt, view.firstSum = first.index, first.at, first.sum
else
view.first = size
end
_, view.base = entryAt(key, view.first - 1)
end
view.total = units(sum, view.base)
if view.jumped then
view.last, view.sum, view.till = now, view.total, math.ceil((now + reach) / 1000)
view.first, view.base, view.firstAt, view.firstSum = 1, 0, now, view.total
end
return view
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
while gone < most do
local _, _, till = struct.unpack(">I7I6I6", old[gone + 2])
if till * 1000 > now then break end
gone = gone + 1
end
if gone > 0 then redis.call("LPOP", key, gone) end
end
function log.take(terms, view, granted, key)
log.mend(terms, view, key)
local at = math.max(now, view.last)
local sum = (view.sum + granted * terms.cost) % WRAP
local till = math.max(math.ceil((at + terms.window) / 1000), view.till)
local sameSubWindow = math.floor(view.last / terms.merge) == math.floor(at / terms.merge)
local entry = struct.pack(">I7I6I6", at, sum, till)
if not view.head then
redis.call("RPUSH", key, BASE, entry)
elseif view.total > 0 and sameSubWindow then
redis.call("LSET", key, -1, entry)
else
redis.call("RPUSH", key, entry)
end
if view.head then prune(key, view) end
redis.call("PEXPIRE", key, ttl(till * 1000))
view.total = view.total + granted * terms.cost
view.last = at
end
local function reaching(key, view, amount)
local function spent(_, sum) return units(sum, view.base) end
local first = { index = view.first, value = spent(nil, view.firstSum), at = view.firstAt }
if first.value >= amount then return first end
local size = redis.call("LLEN", key)
return search(key, spent, amount, first, { index = size - 1, value = view.total, at = view.last })
end
function log.give(terms, view, key)
if not view.head then return end
log.mend(terms, view, key)
local left = view.total - terms.cost
if left <= 0 then
redis.call("LTRIM", key, 0, view.first - 1)
if view.first == 1 then redis.call("DEL", key) end
return
end
local cut = reaching(key, view, left)
redis.call("LTRIM", key, 0, cut.index)
redis.call("LSET", key, cut.index, struct.pack(">I7I6I6", cut.at, (view.base + left) % WRAP, view.till))
end
function log.mend(_, view, key)
if not view.jumped then return end
redis.call("DEL", key)
redis.call("RPUSH", key, BASE, struct.pack(">I7I6I6", view.last, view.sum, view.till))
redis.call("PEXPIRE", key, ttl(view.till * 1000))
view.head = { BASE }
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
local reply = {}
local function spendOrPeek(plan, used)
local granted = plan.count
local views = {}
for part = 1, #plan do
local algorithm, terms = plan[part].algorithm, plan[part].terms
views[part] = algorithm.read(terms, KEYS[used + part])
granted = math.min(granted, algorithm.room(terms, views[part], granted))
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
for part = 1, #plan do
local algorithm, terms, key = plan[part].algorithm, plan[part].terms, KEYS[used + part]
algorithm.give(terms, algorithm.read(terms, key), key)
end
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
