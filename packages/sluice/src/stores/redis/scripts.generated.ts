// Made by scripts/embed-lua.mjs from the Lua files: do not edit.
export const scripts = {
  ask: {
    sha: "3c2ee3898650387112cc8e0644854ba2aa36278c",
    source: `local call, try = redis.call, redis.pcall
local format, pack, unpack, spread = string.format, struct.pack, struct.unpack, unpack
local STRETCH = 900000
local CALLERS_SLACK = 60900
local callersNow = ARGV[1] ~= "" and ARGV[1] + 0
local LEFT_OUT = callersNow and math.huge or STRETCH
local now = callersNow
if not now then
local time = call("TIME")
now = time[1] * 1000000 + time[2]
end
local keys = #KEYS
local reply = { now, nil, nil }
local asks, used, told = 0, 0, 1
local values
local fresh = false
local counts, costs, written
if ARGV[5] then
do
local max, sub = math.max, string.sub
local parts, perAsk, at = 0, 0, 4
local terms = {}
local kinds, places, spots, sizes, begins, apart, stringSpots = {}, {}, {}, {}, {}, {}, {}
local spot, head, size = nil, "", 0
while at <= #ARGV do
parts = parts + 1
kinds[parts], at = ARGV[at], at + 1
local width, bytes
if kinds[parts] == "bucket" then
width, bytes = 4, (ARGV[at + 3] + 0) == 1 and 12 or 22
elseif kinds[parts] == "stepwise" then
width, bytes = 6, (ARGV[at + 3] + 0) == 1 and 26 or 36
elseif kinds[parts] == "fixedWindow" then
width, bytes = 4, 25
elseif kinds[parts] == "log" then
width, bytes = 4, 0
end
local label = ARGV[at]
if label == "" or not spot then
perAsk = perAsk + 1
if bytes > 0 then stringSpots[#stringSpots + 1] = perAsk end
end
if label == "" then
spots[parts], sizes[parts], apart[#apart + 1] = perAsk, bytes, parts
else
spot = spot or perAsk
spots[parts], begins[parts] = spot, size
head, size = head .. pack("Bc0B", #label, label, bytes), size + bytes
end
places[parts] = at
for i = at + 1, at + width do terms[i] = ARGV[i] + 0 end
at = at + width + 1
end
head = head .. "\\0"
local begin = 8 + #head
size = begin + size - 1
local number, each = keys / perAsk, parts
do
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
end
if #stringSpots == perAsk then
do
if keys == 1 then
local value = try("GET", KEYS[1])
fresh = value == false
values = { type(value) == "string" and value }
else
values = call("MGET", spread(KEYS))
local absent
for i = 1, keys do
if not values[i] then
absent = absent or {}
absent[#absent + 1] = KEYS[i]
end
end
fresh = absent and try("EXISTS", spread(absent)) == 0
end
end
else
local names, indexes, absent = {}, {}, nil
for before = 0, keys - 1, perAsk do
for i = 1, #stringSpots do
names[#names + 1], indexes[#indexes + 1] = KEYS[before + stringSpots[i]], before + stringSpots[i]
end
end
values = {}
for i, value in ipairs(call("MGET", spread(names))) do
values[indexes[i]] = value
if not value then
absent = absent or {}
absent[#absent + 1] = names[i]
end
end
fresh = absent and try("EXISTS", spread(absent)) == 0
end
local texts, ends, befores, merging, going, lengths = {}, {}, {}, {}, {}, {}
while used < keys do
local at, looked = told, 0
local times = counts and counts[asks + 1] or 1
local held = spot and values[used + spot]
if written and spot then held = written[KEYS[used + spot]] or held end
local holds = held and (#held == size or #held > size + 7) and sub(held, 8, begin - 1) == head
local states, till = "", 0
while looked < parts do
local part = looked + 1
local key, place = KEYS[used + spots[part]], places[part]
local value, from, whole = held, 1, holds
if begins[part] then
from = begin + begins[part]
else
value = values[used + spots[part]]
if written then value = written[key] or value end
whole = value and #value == sizes[part]
end
local count = costs and times * costs[asks * each + part] or times
local text, expiresAt, before, merges, gone, first, second, third
if kinds[part] == "bucket" then
local cost, span, parts, reach = terms[place + 1], terms[place + 2], terms[place + 3], terms[place + 4]
cost = cost * count
do
local full, part, of = now, 0, parts
before = 0
if whole then
if parts == 1 then
full = unpack(">i7", value, from)
else
local _
full, _, part, of = unpack(">i7I5I5I5", value, from)
end
before = full + 1
end
local ahead = cost
if full >= now then ahead = (full - now) * parts + part + cost end
if ahead <= span and of == parts and (before > 0 or fresh and not value) then
if parts == 1 then
first = ahead
text = pack(">i7I5", now + first, reach)
else
second = ahead % parts
first = (ahead - second) / parts
text = pack(">i7I5I5I5", now + first, reach, second, parts)
end
expiresAt = now + first + 1
end
end
elseif kinds[part] == "stepwise" then
local cost, span, parts, reach, step, life = terms[place + 1], terms[place + 2], terms[place + 3], terms[place + 4], terms[place + 5], terms[place + 6]
cost = cost * count
do
local full, part, of, anchor, lapsesAt = now, 0, parts, now, 0
before = 0
if whole then
local _
if parts == 1 then
full, _, anchor, lapsesAt = unpack(">i7I5i7I7", value, from)
else
full, _, part, of, anchor, lapsesAt = unpack(">i7I5I5I5i7I7", value, from)
end
before = lapsesAt > full and lapsesAt or full + 1
end
local at = now - (now - anchor) % step
if full < at or (full == at and part == 0) then
if now >= lapsesAt then at, anchor = now, now end
full, part = at, 0
end
local ahead = (full - at) * parts + part + cost
if ahead <= span and of == parts and (before > 0 or fresh and not value) then
second = ahead % parts
first = (ahead - second) / parts
third = now - at
full = at + first
if lapsesAt < now + life then lapsesAt = now + life end
if parts == 1 then
text = pack(">i7I5i7I7", full, reach, anchor, lapsesAt)
else
text = pack(">i7I5I5I5i7I7", full, reach, second, parts, anchor, lapsesAt)
end
expiresAt = lapsesAt > full and lapsesAt or full + 1
end
end
elseif kinds[part] == "fixedWindow" then
local cost, limit, window, aligned = terms[place + 1], terms[place + 2], terms[place + 3], terms[place + 4]
cost = cost * count
do
local start, stop, used, reach = now, now, 0, 0
before = 0
if whole then
start, stop, used, reach = unpack(">I7I7I6I5", value, from)
before = stop
if stop <= now then start, stop, used, reach = now, now, 0, 0 end
end
local ends = aligned == 1 and now - now % window + window or start + window
if stop == now then stop = ends end
used = used + cost
if used <= limit and start <= now and stop == ends and (before > 0 or fresh and not value) then
first, second = used, stop - now
expiresAt = stop
if reach < window / 1000 then reach = window / 1000 end
text = pack(">I7I7I6I5", start, stop, used, reach)
end
end
elseif kinds[part] == "log" then
local cost, limit, window, merge = terms[place + 1], terms[place + 2], terms[place + 3], terms[place + 4]
cost = cost * count
do
local WRAP = 281474976710656
local head = try("LRANGE", key, "0", "2")
local newest = head[3] and try("LINDEX", key, "-1") or head[2]
if newest and #newest == 19 and #head[1] >= 19 then
local from = now - window + 1
local _, base = unpack(">I7I6", head[1])
local left = 0
local oldest, rest, passed = head[2], nil, 0
gone = 0
while oldest and #oldest >= 19 do
local at, sum, till = unpack(">I7I6I6", oldest)
if at >= from then break end
if till * 1000 <= now then gone = gone + 1 end
left, base = left + 1, sum
if left == 2 then
rest, passed = try("LRANGE", key, "3", "10"), 1
elseif left == 10 then
rest, passed = try("LRANGE", key, "11", "32"), 9
end
oldest = left == 1 and head[3] or rest and rest[left - passed]
end
local last, sum, till = unpack(">I7I6I6", newest)
local total = (sum - base + WRAP) % WRAP + cost
if oldest and #oldest >= 19 and last <= now and total <= limit then
before = till * 1000
expiresAt = now + window
expiresAt = expiresAt + -expiresAt % 1000
if expiresAt < before then expiresAt = before end
merges = before >= last + window and last - last % merge == now - now % merge
first, second = total, window
text = pack(">I7I6I6", now, (sum + cost) % WRAP, expiresAt / 1000)
end
end
end
end
if not text then break end
looked = part
if begins[part] then
states = states .. text
if expiresAt > till then till = expiresAt end
else
texts[part], ends[part], befores[part], merging[part], going[part] = text, expiresAt, before, merges, gone
lengths[part] = value and #value
end
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
if third then
at = at + 1
reply[at] = third
end
end
if looked < parts then break end
local failed
if spot then
local key, text, expiresAt, before, length = KEYS[used + spot], nil, nil, nil, nil
do
local rest = holds and sub(held, size + 1) or ""
text, expiresAt = pack(">I7", till) .. head .. states, till
before, length = holds and unpack(">I7", held) or 0, held and #held
if rest ~= "" then
local others = unpack(">I7", rest)
before = max(before, others)
if others + LEFT_OUT > now then text, expiresAt = text .. rest, max(till, others) end
end
do
local stretch = expiresAt + -expiresAt % STRETCH
if callersNow then
failed = try("SET", key, text, "PX", format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK)).err
elseif stretch ~= before + -before % STRETCH then
failed = try("SET", key, text, "PXAT", format("%d", stretch / 1000)).err
elseif length ~= #text or try("SETRANGE", key, "0", text) ~= length then
failed = try("SET", key, text, "KEEPTTL").err
end
end
if written and not failed then written[key] = text end
end
end
for i = 1, failed and 0 or #apart do
local part = apart[i]
local key, text, expiresAt, before, length = KEYS[used + spots[part]], texts[part], ends[part], befores[part], lengths[part]
if kinds[part] == "log" then
local merges, gone = merging[part], going[part]
do
if merges then
failed = try("LSET", key, "-1", text).err
else
local length = try("RPUSH", key, text)
failed = type(length) == "table" and length.err
end
if not failed and gone > 0 then failed = try("LPOP", key, format("%d", gone)).err end
if not failed then
do
local stretch = expiresAt + -expiresAt % STRETCH
local set
if callersNow then
set = try("PEXPIRE", key, format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK))
elseif stretch ~= before + -before % STRETCH then
set = try("PEXPIREAT", key, format("%d", stretch / 1000))
end
failed = type(set) == "table" and set.err
end
end
end
else
do
local stretch = expiresAt + -expiresAt % STRETCH
if callersNow then
failed = try("SET", key, text, "PX", format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK)).err
elseif stretch ~= before + -before % STRETCH then
failed = try("SET", key, text, "PXAT", format("%d", stretch / 1000)).err
elseif length ~= #text or try("SETRANGE", key, "0", text) ~= length then
failed = try("SET", key, text, "KEEPTTL").err
end
end
if written and not failed then written[key] = text end
end
if failed then break end
end
if failed then break end
asks, used, told = asks + 1, used + perAsk, at
end
end
if used == keys then return reply end
for extra = #reply, told + 1, -1 do reply[extra] = nil end
end
local floor, ceil, max, byte, sub = math.floor, math.ceil, math.max, string.byte, string.sub
local plain, writers, sizes = {}, {}, {}
local function write(key, text, expiresAt, before)
local failed, length
do
local stretch = expiresAt + -expiresAt % STRETCH
if callersNow then
failed = try("SET", key, text, "PX", format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK)).err
elseif stretch ~= before + -before % STRETCH then
failed = try("SET", key, text, "PXAT", format("%d", stretch / 1000)).err
elseif length ~= #text or try("SETRANGE", key, "0", text) ~= length then
failed = try("SET", key, text, "KEEPTTL").err
end
end
if failed then error({ err = failed }) end
end
function sizes.bucket(terms)
return (terms.parts or 1) == 1 and 12 or 22
end
function plain.bucket(terms, key, value, count, reply)
local cost, span, parts, reach = count * (terms.cost * (terms.parts or 1) + (terms.costPart or 0)), terms.span * (terms.parts or 1) + (terms.spanPart or 0), terms.parts or 1, terms.reach
if span > 9007199254740991 then return nil end
local from, whole = 1, value and #value == (parts == 1 and 12 or 22)
local text, expiresAt, before, merges, gone, first, second, third
do
local full, part, of = now, 0, parts
before = 0
if whole then
if parts == 1 then
full = unpack(">i7", value, from)
else
local _
full, _, part, of = unpack(">i7I5I5I5", value, from)
end
before = full + 1
end
local ahead = cost
if full >= now then ahead = (full - now) * parts + part + cost end
if ahead <= span and of == parts and (before > 0 or fresh and not value) then
if parts == 1 then
first = ahead
text = pack(">i7I5", now + first, reach)
else
second = ahead % parts
first = (ahead - second) / parts
text = pack(">i7I5I5I5", now + first, reach, second, parts)
end
expiresAt = now + first + 1
end
end
if not text then return nil end
local at = #reply
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
return text, expiresAt, before, merges, gone
end
function sizes.stepwise(terms)
return (terms.parts or 1) == 1 and 26 or 36
end
function plain.stepwise(terms, key, value, count, reply)
local cost, span, parts, reach, step, life = count * (terms.cost * (terms.parts or 1) + (terms.costPart or 0)), terms.span * (terms.parts or 1) + (terms.spanPart or 0), terms.parts or 1, terms.reach, terms.step, terms.life
if span > 9007199254740991 then return nil end
local from, whole = 1, value and #value == (parts == 1 and 26 or 36)
local text, expiresAt, before, merges, gone, first, second, third
do
local full, part, of, anchor, lapsesAt = now, 0, parts, now, 0
before = 0
if whole then
local _
if parts == 1 then
full, _, anchor, lapsesAt = unpack(">i7I5i7I7", value, from)
else
full, _, part, of, anchor, lapsesAt = unpack(">i7I5I5I5i7I7", value, from)
end
before = lapsesAt > full and lapsesAt or full + 1
end
local at = now - (now - anchor) % step
if full < at or (full == at and part == 0) then
if now >= lapsesAt then at, anchor = now, now end
full, part = at, 0
end
local ahead = (full - at) * parts + part + cost
if ahead <= span and of == parts and (before > 0 or fresh and not value) then
second = ahead % parts
first = (ahead - second) / parts
third = now - at
full = at + first
if lapsesAt < now + life then lapsesAt = now + life end
if parts == 1 then
text = pack(">i7I5i7I7", full, reach, anchor, lapsesAt)
else
text = pack(">i7I5I5I5i7I7", full, reach, second, parts, anchor, lapsesAt)
end
expiresAt = lapsesAt > full and lapsesAt or full + 1
end
end
if not text then return nil end
local at = #reply
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
if third then
at = at + 1
reply[at] = third
end
return text, expiresAt, before, merges, gone
end
function sizes.fixedWindow(terms)
return 25
end
function plain.fixedWindow(terms, key, value, count, reply)
local cost, limit, window, aligned = count * terms.cost, terms.limit, terms.window, terms.aligned
local from, whole = 1, value and #value == (25)
local text, expiresAt, before, merges, gone, first, second, third
do
local start, stop, used, reach = now, now, 0, 0
before = 0
if whole then
start, stop, used, reach = unpack(">I7I7I6I5", value, from)
before = stop
if stop <= now then start, stop, used, reach = now, now, 0, 0 end
end
local ends = aligned == 1 and now - now % window + window or start + window
if stop == now then stop = ends end
used = used + cost
if used <= limit and start <= now and stop == ends and (before > 0 or fresh and not value) then
first, second = used, stop - now
expiresAt = stop
if reach < window / 1000 then reach = window / 1000 end
text = pack(">I7I7I6I5", start, stop, used, reach)
end
end
if not text then return nil end
local at = #reply
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
return text, expiresAt, before, merges, gone
end
function sizes.log(terms)
return 0
end
function plain.log(terms, key, value, count, reply)
local cost, limit, window, merge = count * terms.cost, terms.limit, terms.window, terms.merge
local from, whole = 1, value and #value == (0)
local text, expiresAt, before, merges, gone, first, second, third
do
local WRAP = 281474976710656
local head = try("LRANGE", key, "0", "2")
local newest = head[3] and try("LINDEX", key, "-1") or head[2]
if newest and #newest == 19 and #head[1] >= 19 then
local from = now - window + 1
local _, base = unpack(">I7I6", head[1])
local left = 0
local oldest, rest, passed = head[2], nil, 0
gone = 0
while oldest and #oldest >= 19 do
local at, sum, till = unpack(">I7I6I6", oldest)
if at >= from then break end
if till * 1000 <= now then gone = gone + 1 end
left, base = left + 1, sum
if left == 2 then
rest, passed = try("LRANGE", key, "3", "10"), 1
elseif left == 10 then
rest, passed = try("LRANGE", key, "11", "32"), 9
end
oldest = left == 1 and head[3] or rest and rest[left - passed]
end
local last, sum, till = unpack(">I7I6I6", newest)
local total = (sum - base + WRAP) % WRAP + cost
if oldest and #oldest >= 19 and last <= now and total <= limit then
before = till * 1000
expiresAt = now + window
expiresAt = expiresAt + -expiresAt % 1000
if expiresAt < before then expiresAt = before end
merges = before >= last + window and last - last % merge == now - now % merge
first, second = total, window
text = pack(">I7I6I6", now, (sum + cost) % WRAP, expiresAt / 1000)
end
end
end
if not text then return nil end
local at = #reply
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
return text, expiresAt, before, merges, gone
end
writers.bucket = write
writers.stepwise = write
writers.fixedWindow = write
function writers.log(key, text, expiresAt, before, merges, gone)
local failed
do
if merges then
failed = try("LSET", key, "-1", text).err
else
local length = try("RPUSH", key, text)
failed = type(length) == "table" and length.err
end
if not failed and gone > 0 then failed = try("LPOP", key, format("%d", gone)).err end
if not failed then
do
local stretch = expiresAt + -expiresAt % STRETCH
local set
if callersNow then
set = try("PEXPIRE", key, format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK))
elseif stretch ~= before + -before % STRETCH then
set = try("PEXPIREAT", key, format("%d", stretch / 1000))
end
failed = type(set) == "table" and set.err
end
end
end
if failed then error({ err = failed }) end
end
local plans = cjson.decode(ARGV[2])
local numbers = ARGV[3] ~= "" and not ARGV[5] and cjson.decode(ARGV[3])
local strings = written or {}
local mayComeTwice = written or ARGV[4] and not ARGV[5]
local records = {}
local function priced(terms, units)
local own = {}
for name, value in pairs(terms) do own[name] = value end
local pieces = units * (terms.cost * (terms.parts or 1) + (terms.costPart or 0))
own.costPart = terms.parts and pieces % terms.parts
own.cost = (pieces - (own.costPart or 0)) / (terms.parts or 1)
return own
end
if counts then
numbers = {}
for ask = asks + 1, #counts do
local number = costs and ask + 1 or counts[ask]
numbers[ask] = number
if not plans[number] then
local plan = { spread(plans[1]) }
local parts = #plan / 2 - 1
plan[2] = counts[ask]
for part = 1, costs and parts or 0 do
plan[part * 2 + 2] = priced(plan[part * 2 + 2], costs[(ask - 1) * parts + part])
end
plans[number] = plan
end
end
end
local function readValues()
do
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
end
end
local function takeBackReply()
for extra = #reply, told + 1, -1 do reply[extra] = nil end
end
local function placesOf(plan)
if plan.places then return plan.places, plan.width end
local places, width = {}, 0
for part = 4, #plan, 2 do
local with = plan[part].with
if not with then width = width + 1 end
places[#places + 1] = with and places[with] or width
end
plan.places, plan.width = places, width
return places, width
end
local function blocksOf(plan)
local blocks = {}
for part = 1, #plan / 2 - 1 do
local terms, size = plan[part * 2 + 2], sizes[plan[part * 2 + 1]]
if terms.label then
size = size(terms)
local block = blocks[terms.with] or { head = "\\0", size = 0, text = "", ends = 0 }
block.head = sub(block.head, 1, -2) .. pack("Bc0B", #terms.label, terms.label, size) .. "\\0"
terms.before, terms.size = block.size, size
block.size, block.last = block.size + size, part
blocks[part] = block
end
end
return blocks
end
local function stateOf(value, block, terms)
if not block or not value then return value end
local from = 8 + #block.head
local size = from + block.size - 1
if #value ~= size and #value <= size + 7 or sub(value, 8, from - 1) ~= block.head then return "" end
from = from + terms.before
return sub(value, from, from + terms.size - 1)
end
local function spendPlain()
if not values then readValues() end
local known = values or {}
local plan, parts, count, first, terms, writeFirst, places, width, blocks
local looked = {}
while used < keys do
local own = plans[numbers and numbers[asks + 1] or 1]
if own ~= plan then
if own[1] ~= "spend" then return end
for part = 3, #own, 2 do
if not plain[own[part]] then return end
end
plan, parts, count = own, #own / 2 - 1, own[2]
first, terms, writeFirst = plain[own[3]], own[4], writers[own[3]]
places, width = placesOf(own)
blocks = blocksOf(own)
end
told = #reply
if parts == 1 and not blocks[1] then
local key, value = KEYS[used + 1], known[used + 1]
if mayComeTwice and strings[key] ~= nil then value = strings[key] end
local a, b, c, d, e = first(terms, key, value, count, reply)
if not a then return end
writeFirst(key, a, b, c, d, e)
if mayComeTwice then strings[key] = a end
else
for part = 1, parts do
local i, n, own = used + places[part], part * 5, plan[part * 2 + 2]
if mayComeTwice and strings[KEYS[i]] ~= nil then known[i] = strings[KEYS[i]] end
local value = stateOf(known[i], blocks[part], own)
local a, b, c, d, e = plain[plan[part * 2 + 1]](own, KEYS[i], value, count, reply)
if not a then return takeBackReply() end
looked[n], looked[n + 1], looked[n + 2], looked[n + 3], looked[n + 4] = a, b, c, d, e
end
for part = 1, parts do
local i, n, block = used + places[part], part * 5, blocks[part]
if not block then
writers[plan[part * 2 + 1]](KEYS[i], looked[n], looked[n + 1], looked[n + 2], looked[n + 3], looked[n + 4])
if mayComeTwice then strings[KEYS[i]] = looked[n] end
else
block.text, block.ends = block.text .. looked[n], max(block.ends, looked[n + 1])
if part == block.last then
local record, ends = known[i], block.ends
local before = record and unpack(">I7", record) or 0
local rest = record and sub(record, 8 + #block.head + block.size) or ""
local till = rest ~= "" and unpack(">I7", rest) or 0
if till + LEFT_OUT <= now then rest = "" end
local text = pack(">I7", ends) .. block.head .. block.text .. rest
block.text, block.ends = "", 0
write(KEYS[i], text, rest ~= "" and max(ends, till) or ends, max(before, till))
if mayComeTwice then strings[KEYS[i]], records[KEYS[i]] = text, nil end
end
end
end
end
asks, used = asks + 1, used + width
end
end
local function answerPlain()
told = #reply
if not pcall(spendPlain) then takeBackReply() end
end
if not ARGV[5] and plans[1][1] == "spend" then
answerPlain()
if used == keys then return reply end
end
local function recordOf(value)
local labels, states, ends = {}, {}, {}
local last, at = 0, 1
while value and at <= #value do
local till, sizes, before = unpack(">I7", value, at), {}, #labels
at = at + 7
while byte(value, at) ~= 0 do
labels[#labels + 1], sizes[#sizes + 1], at = unpack("Bc0B", value, at)
end
at = at + 1
for i = 1, #sizes do
local label = labels[before + i]
states[label], ends[label] = sub(value, at, at + sizes[i] - 1), till
at = at + sizes[i]
end
last = max(last, till)
end
return { labels = labels, states = states, ends = ends, till = last }
end
local function labelsOf(plan)
if plan.labels then return plan.labels end
plan.labels = {}
for part, place in ipairs(placesOf(plan)) do
local label, labels = plan[part * 2 + 2].label, plan.labels[place] or {}
if label then
labels[#labels + 1], labels[label], plan.labels[place] = label, label, labels
end
end
return plan.labels
end
local function blockOf(record, labels)
local head, states, till = "", "", 0
for _, label in ipairs(labels) do
local state = record.states[label]
if state then
head, states = head .. pack("Bc0B", #label, label, #state), states .. state
till = max(till, record.ends[label])
end
end
if head == "" then return "", 0 end
return pack(">I7", till) .. head .. "\\0" .. states, till
end
local function textOf(record, own)
local text, till = blockOf(record, own)
local labels, tills, byTill = own, {}, {}
for _, label in ipairs(record.labels) do
local ends = record.ends[label]
if record.states[label] and not own[label] and ends + LEFT_OUT > reply[1] then
if labels == own then labels = { spread(own) } end
if not byTill[ends] then
tills[#tills + 1], byTill[ends] = ends, {}
end
table.insert(byTill[ends], label)
labels[#labels + 1] = label
end
end
if #tills > 1 then table.sort(tills, function(a, b) return a > b end) end
for _, ends in ipairs(tills) do text = text .. blockOf(record, byTill[ends]) end
record.labels, record.till = labels, max(till, tills[1] or 0)
return text, record.till
end
local min, huge = math.min, math.huge
local GRACE = 1000000
local algorithms = {}
local modes = {}
local lead = 0
local atHand
local function placeOf(part)
local key, terms = KEYS[used + placesOf(atHand)[part]], atHand[part * 2 + 2]
if not terms.label then return key end
terms.place = terms.place or { label = terms.label }
terms.place.record = key
return terms.place
end
local ONLY_NOW = { spend = true, peek = true, charge = true }
local function keysOf(plan)
local _, width = placesOf(plan)
local moments = ONLY_NOW[plan[1]] and 0 or #plan / 2 - 1
return width + moments + (modes[plan[1]] and modes[plan[1]].keys or 0)
end
local get
local function recordAt(key)
records[key] = records[key] or recordOf(get(key))
return records[key]
end
function get(key)
if type(key) == "table" then return recordAt(key.record).states[key.label] end
local value = strings[key] or call("GET", key)
strings[key] = value
return value
end
local function forgottenAt(part)
local _, width = placesOf(atHand)
local key = KEYS[used + width + part]
local value = strings[key]
if value == nil then value = try("GET", key) end
if type(value) ~= "string" or #value ~= 14 then return -1, key, 0 end
local at, till = unpack(">I7I7", value)
if till > 9007199254740991 then return -1, key, 0 end
return till > now and at <= now + GRACE and at or -1, key, till
end
local changed = {}
local function change(place, state, expiresAt)
local record = recordAt(place.record)
record.states[place.label], record.ends[place.label] = state, expiresAt
changed[place.record] = record
end
local function set(key, value, expiresAt, before)
if type(key) == "table" then return change(key, value, expiresAt) end
write(key, value, expiresAt, before)
strings[key] = value
end
local function drop(key)
if type(key) == "table" then return change(key, nil, 0) end
call("DEL", key)
strings[key] = false
end
local function writeChanged()
for place, labels in pairs(labelsOf(atHand)) do
local key = KEYS[used + place]
local record = changed[key]
if record then
local before = record.till
local text, till = textOf(record, labels)
if text ~= "" then set(key, text, till, before) elseif before > 0 then drop(key) end
changed[key] = nil
end
end
end
do
local bucket = {}
algorithms.bucket, algorithms.stepwise = bucket, bucket
local function read(terms, key)
local step = terms.step
local full, reach, part, anchor, lapsesAt, expiresAt, last, low = now, terms.reach, 0, nil, 0, 0, 0, 0
local value = get(key)
if value then
full, reach = unpack(">i7I5", value)
expiresAt = full + 1
local size = #value
if size % 2 == 1 then
last, low = unpack(">i7I7", value, size - 14)
size = size - 15
end
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
local jumped = full - now > reach * 1000 + max(terms.reach * 1000, GRACE)
if jumped then
full = now + reach * 1000
part = 0
anchor = nil
lapsesAt = 0
last = 0
low = 0
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
return at, full - at, part, reach, anchor, lapsesAt, jumped, expiresAt, last, low
end
local function keep(terms, key, full, part, reach, anchor, lapsesAt, before, last, low)
local value = pack(">i7I5", full, reach)
local expiresAt = full + 1
if terms.parts then value = value .. pack(">I5I5", part, terms.parts) end
if anchor then
value = value .. pack(">i7I7", anchor, lapsesAt)
expiresAt = max(expiresAt, lapsesAt)
end
if last >= now then value = value .. pack(">i7I7", last, low) .. "t" end
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
local at, ahead, part, reach, anchor, lapsesAt, jumped, before, last, low = read(terms, key)
granted = granted or room(terms, ahead, part, count)
if not reply then return granted end
if spend and granted > 0 then
if lead > 0 then
low = last > now - lead and min(low, ahead) or ahead
last = max(last, now)
end
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
keep(terms, key, at + ahead, part, terms.reach + ceil(lead / 1000), anchor, lapsesAt, before, last, low)
elseif spend and jumped then
keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before, last, low)
end
reply[#reply + 1] = ahead
if terms.parts or terms.step then reply[#reply + 1] = part end
if terms.step then reply[#reply + 1] = now - at end
return granted
end
function bucket.till(terms, key)
local _, _, _, _, _, _, _, expiresAt = read(terms, key)
return expiresAt
end
function bucket.give(terms, key, debitedAt)
local at, ahead, part, reach, anchor, lapsesAt, _, before, last, low = read(terms, key)
local whole, pieces = terms.cost, terms.costPart or 0
if debitedAt >= 0 then
local step = terms.step
local refilled = step and at - anchor - floor((debitedAt - anchor) / step) * step or now - debitedAt
whole = whole - max(refilled, 0)
if whole <= 0 or (last > now and low == 0) then return end
if last > now and whole >= low then whole, pieces = low, 0 end
end
low = max(low - whole - (pieces > 0 and 1 or 0), 0)
ahead = ahead - whole
part = part - pieces
if part < 0 then
part = part + terms.parts
ahead = ahead - 1
end
if ahead < 0 or (ahead == 0 and part == 0) then
ahead = 0
part = 0
if lapsesAt <= now then return drop(key) end
end
keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before, last, low)
end
local function mended(terms, key)
local at, ahead, part, reach, anchor, lapsesAt, jumped, before, last, low = read(terms, key)
if jumped then keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before, last, low) end
return at, ahead, part, reach, anchor, lapsesAt, before, last, low
end
function bucket.turn(terms, key)
local at, ahead, part = mended(terms, key)
if terms.queue then
return room(terms, ahead, part, 1) == 0 and huge or ahead
end
if terms.cost > terms.span or (terms.cost == terms.span and (terms.costPart or 0) > (terms.spanPart or 0)) then
return huge
end
local lackingPart = part + (terms.costPart or 0) - (terms.spanPart or 0)
local over = lackingPart > (terms.parts or 1) and 2 or lackingPart > 0 and 1 or 0
local lacking = max(0, ahead + terms.cost - terms.span + over)
local step = terms.step
return lacking > 0 and step and ceil(lacking / step) * step - (now - at) or lacking
end
bucket.lineWidth = 6
function bucket.line(terms, key)
local at, ahead, part, _, anchor, lapsesAt, _, _, last, low = read(terms, key)
return { at + ahead, part, last, low, anchor or -1, lapsesAt }
end
function bucket.restore(terms, key, line)
local full, part, last, low, anchor, lapsesAt = spread(line)
if max(full + 1, lapsesAt) <= now then return drop(key) end
local _, _, _, reach, _, _, _, before = read(terms, key)
keep(terms, key, full, part, reach, anchor >= 0 and anchor, lapsesAt, before, last, low)
end
function bucket.charge(terms, key, maxWait, reply)
local at, ahead, part, _, anchor, lapsesAt, before, last, low = mended(terms, key)
local fits = room(terms, ahead, part, 1)
local parts, spanPart = terms.parts or 1, terms.spanPart or 0
local carry = 2 * spanPart >= parts and 1 or 0
if terms.step then maxWait = maxWait - maxWait % terms.step end
local most, mostPart = 2 * terms.span + carry + maxWait, 2 * spanPart - carry * parts
if ahead > most or (ahead == most and part > mostPart) then most, mostPart = ahead, part end
ahead = ahead + terms.cost
part = part + (terms.costPart or 0)
if part >= parts then
part = part - parts
ahead = ahead + 1
end
if ahead > most or (ahead == most and part > mostPart) then ahead, part = most, mostPart end
local debt = ahead + (part > 0 and 1 or 0)
local reach = max(terms.reach, ceil((at - now + debt) / 1000))
lapsesAt = max(lapsesAt, now + (terms.life or 0))
if terms.step then
lapsesAt = max(lapsesAt, at + ceil(debt / terms.step) * terms.step)
end
keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before, last, low)
reply[#reply + 1] = ahead
if terms.parts or terms.step then reply[#reply + 1] = part end
if terms.step then reply[#reply + 1] = now - at end
return fits
end
end
do
local fixedWindow = {}
algorithms.fixedWindow = fixedWindow
local function read(terms, key)
local start, stop, used, reach, booked, expiresAt = now, now, 0, 0, 0, 0
local value = get(key)
if value then
start, stop, used, reach = unpack(">I7I7I6I5", value)
booked = #value - 25
expiresAt = stop
if stop <= now then start, stop, used, reach, booked = now, now, 0, 0, 0 end
end
local jumped = stop - now > reach * 1000 + max(terms.window, GRACE)
if jumped then
start = booked == 1 and now + reach * 1000 - (stop - start) or now
stop = now + reach * 1000
end
local opens = booked == 1 and max(start - now, 0) or 0
return start, stop, used, reach, jumped, expiresAt, opens, booked
end
local function keep(key, start, stop, used, reach, before, booked)
local value = pack(">I7I7I6I5", start, stop, used, reach)
set(key, booked == 1 and value .. "b" or value, stop, before)
end
local function opened(terms, start, stop, reach)
local window = terms.window
if terms.aligned == 1 then
stop = max(stop, (floor(now / window) + 1) * window)
elseif stop - start < window then
stop = max(stop, now + window)
end
return stop, max(reach, ceil((window + lead) / 1000))
end
function fixedWindow.step(terms, key, count, granted, spend, reply)
local start, stop, used, reach, jumped, before, opens, booked = read(terms, key)
granted = granted or opens > 0 and 0 or min(count, max(floor((terms.limit - used) / terms.cost), 0))
if not reply then return granted end
if spend and granted > 0 then
if lead > 0 and stop == now then booked = 1 end
stop, reach = opened(terms, start, stop, reach)
used = used + granted * terms.cost
end
if spend and (granted > 0 or jumped) then keep(key, start, stop, used, reach, before, booked) end
reply[#reply + 1] = used
reply[#reply + 1] = stop - now
if granted < count then reply[#reply + 1] = opens end
return granted
end
function fixedWindow.till(terms, key)
local _, _, _, _, _, expiresAt = read(terms, key)
return expiresAt
end
function fixedWindow.give(terms, key, debitedAt)
local start, stop, used, reach, _, before, opens, booked = read(terms, key)
if debitedAt >= 0 and debitedAt < start then return end
local left = used - terms.cost
if left <= 0 and opens > 0 then
local back = min(ceil(opens / terms.window), floor(-left / terms.limit) + 1)
left = left + back * terms.limit
start = start - back * terms.window
stop = start + terms.window
end
used = max(left, 0)
if used == 0 and start <= now then return drop(key) end
keep(key, start, stop, used, reach, before, booked)
end
local function mended(terms, key)
local start, stop, used, reach, jumped, before, opens, booked = read(terms, key)
if jumped then keep(key, start, stop, used, reach, before, booked) end
return start, stop, used, reach, before, opens, booked
end
function fixedWindow.turn(terms, key)
local _, stop, used, _, _, opens = mended(terms, key)
if terms.cost > terms.limit then return huge end
return used + terms.cost > terms.limit and stop - now or opens
end
fixedWindow.lineWidth = 4
function fixedWindow.line(terms, key)
local start, stop, used, _, _, _, _, booked = read(terms, key)
return { start, stop, used, booked }
end
function fixedWindow.restore(terms, key, line)
local start, stop, used, booked = spread(line)
if stop <= now then return drop(key) end
local _, _, _, reach, _, before = read(terms, key)
keep(key, start, stop, used, reach, before, booked)
end
function fixedWindow.charge(terms, key, maxWait, reply)
local start, stop, used, reach, before, opens, booked = mended(terms, key)
local fits = opens == 0 and used + terms.cost <= terms.limit and 1 or 0
stop, reach = opened(terms, start, stop, reach)
local total = used + terms.cost
if total <= terms.limit then
used = total
elseif stop - now <= maxWait + terms.window then
start, stop, used = stop, stop + terms.window, min(total - terms.limit, terms.limit)
reach = max(reach, ceil((stop - now) / 1000))
opens, booked = start - now, 1
else
used = max(used, terms.limit)
end
keep(key, start, stop, used, reach, before, booked)
reply[#reply + 1] = used
reply[#reply + 1] = stop - now
reply[#reply + 1] = opens
return fits
end
end
do
local log = {}
algorithms.log = log
local WRAP = 281474976710656
local PRUNE = 32
local function units(sum, base) return (sum - base + WRAP) % WRAP end
local function expire(key, expiresAt, before)
local failed
do
local stretch = expiresAt + -expiresAt % STRETCH
local set
if callersNow then
set = try("PEXPIRE", key, format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK))
elseif stretch ~= before + -before % STRETCH then
set = try("PEXPIREAT", key, format("%d", stretch / 1000))
end
failed = type(set) == "table" and set.err
end
if failed then error({ err = failed }) end
end
local function packed(at, sum, till, leads)
local value = pack(">I7I6I6", at, sum, till)
return leads and leads > 0 and value .. pack(">I5", leads) or value
end
local BASE = packed(0, 0, 0)
local function entry(index, value)
local at, sum, till = unpack(">I7I6I6", value)
return { index = index, at = at, sum = sum, till = till, leads = #value > 19 and unpack(">I5", value, 20) or 0 }
end
local function entryAt(key, index) return entry(index, call("LINDEX", key, index)) end
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
local head = call("LRANGE", key, "0", "2")
local size = #head
if size == 0 then
return { head = head, first = 1, base = 0, total = 0, last = 0, leads = 0, sum = 0, till = 0, expiresAt = 0 }
end
local newestValue = size < 3 and head[size] or call("LINDEX", key, "-1")
local last, sum, till = unpack(">I7I6I6", newestValue)
local leads = #newestValue > 19 and unpack(">I5", newestValue, 20) or 0
local reach = till * 1000 - last
if last - now > max(reach, GRACE) + leads * 1000 then
local newest = { at = last, sum = sum, till = till }
local before = around(key, head, newest, function(each) return each.till end, floor(last / 1000) + 1)
local total = units(sum, before.sum)
last = now + leads * 1000
till = ceil((last + reach) / 1000)
return {
head = head, first = 1, firstValue = packed(last, total, till, leads), base = 0, total = total, last = last,
leads = leads, sum = total, till = till, jumped = true,
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
local newest = { at = last, sum = sum, till = till, leads = leads }
local before, found = around(key, head, newest, function(each) return each.at end, from)
first, base = before.index + 1, before.sum
firstValue = found and packed(found.at, found.sum, found.till, found.leads)
end
return {
head = head, first = first, firstValue = firstValue, base = base, total = units(sum, base), last = last,
leads = leads, sum = sum, till = till, expiresAt = till * 1000,
}
end
local function prune(key, view)
local most = min(view.first - 1, PRUNE)
if most == 0 then return end
local function matters(value) return unpack(">I6", value, 14) * 1000 > now - lead end
local old = most < #view.head and view.head
if not old and matters(call("LINDEX", key, most)) then old = call("LRANGE", key, 0, most) end
local gone = most
if old then
gone = 0
while gone < most and not matters(old[gone + 2]) do gone = gone + 1 end
end
if gone == 0 then return end
call("LPOP", key, gone)
view.first = view.first - gone
end
local function mend(view, key)
call("DEL", key)
call("RPUSH", key, BASE, packed(view.last, view.sum, view.till, view.leads))
expire(key, view.till * 1000, 0)
view.expiresAt = view.till * 1000
end
local function take(terms, view, granted, key)
local at = max(now, view.last)
local sum = (view.sum + granted * terms.cost) % WRAP
local till = max(ceil((at + terms.window) / 1000), view.till)
local ownWindow = view.till >= ceil((view.last + terms.window) / 1000)
local sameSubWindow = floor(view.last / terms.merge) == floor(at / terms.merge)
local value = packed(at, sum, till, ceil(lead / 1000))
local first = view.firstValue
if #view.head == 0 then
call("RPUSH", key, BASE, value)
elseif view.total > 0 and ownWindow and sameSubWindow then
call("LSET", key, "-1", value)
if unpack(">I6", first, 8) == view.sum then first = nil end
else
call("RPUSH", key, value)
end
view.firstValue = first or value
if #view.head > 0 then prune(key, view) end
expire(key, till * 1000, view.expiresAt)
view.total = view.total + granted * terms.cost
view.last, view.sum, view.till, view.leads = at, sum, till, ceil(lead / 1000)
end
local function room(terms, view, count)
if view.leads > 0 and view.last > now then return 0 end
return min(count, max(floor((terms.limit - view.total) / terms.cost), 0))
end
local function reaching(key, view, amount)
local function spent(each) return units(each.sum, view.base) end
local first = entry(view.first, view.firstValue)
if spent(first) >= amount then return first end
local newest = {
index = call("LLEN", key) - 1, at = view.last, sum = view.sum, till = view.till, leads = view.leads,
}
return search(key, spent, amount, first, newest)
end
local function giveNewest(terms, view, key)
local left = view.total - terms.cost
if left <= 0 then
call("LTRIM", key, 0, view.first - 1)
else
local cut = reaching(key, view, left)
call("LTRIM", key, 0, cut.index)
call("LSET", key, -1, packed(cut.at, (view.base + left) % WRAP, cut.till, cut.leads))
end
local newest = entryAt(key, -1)
if call("LLEN", key) == 1 or newest.till * 1000 <= now then
call("DEL", key)
else
expire(key, newest.till * 1000, view.expiresAt)
end
end
local function giveOldest(terms, view, key)
local older = view.first - 1
local olderMatter = older > 0 and entryAt(key, older).till * 1000 > now
if view.till * 1000 <= now or (not olderMatter and terms.cost >= view.total) then
call("DEL", key)
return
end
if olderMatter then return end
if older > 0 then
call("LTRIM", key, older, -1)
view.first = 1
end
local cut = reaching(key, view, terms.cost)
local sum = (view.base + terms.cost) % WRAP
call("LTRIM", key, cut.sum == sum and cut.index or cut.index - 1, -1)
call("LSET", key, 0, packed(0, sum, 0))
end
local function wait(terms, view, key)
local turns = view.leads > 0 and max(view.last - now, 0) or 0
local excess = view.total + terms.cost - terms.limit
if terms.cost > terms.limit or excess <= 0 then return turns end
return max(reaching(key, view, excess).at + terms.window - now, turns)
end
function log.step(terms, key, count, granted, spend, reply)
local view = read(terms, key)
granted = granted or room(terms, view, count)
if not reply then return granted end
if spend and view.jumped then mend(view, key) end
if spend and granted > 0 then take(terms, view, granted, key) end
reply[#reply + 1] = view.total
reply[#reply + 1] = view.total > 0 and view.last + terms.window - now or 0
if granted < count then reply[#reply + 1] = wait(terms, view, key) end
return granted
end
function log.till(_, key)
local newest = call("LINDEX", key, "-1")
return newest and unpack(">I6", newest, 14) * 1000 or 0
end
function log.give(terms, key, debitedAt)
if debitedAt >= 0 and debitedAt + terms.window <= now then return end
local view = read(terms, key)
if #view.head == 0 then return end
if view.jumped then mend(view, key) end
if debitedAt >= 0 then giveOldest(terms, view, key) else giveNewest(terms, view, key) end
end
function log.turn(terms, key)
local view = read(terms, key)
if view.jumped then mend(view, key) end
return terms.cost > terms.limit and huge or wait(terms, view, key)
end
log.lineWidth = 4
function log.line(terms, key)
local view = read(terms, key)
return { view.last, view.sum, view.till, view.leads }
end
function log.restore(_, key, line)
local at, sum, till, leads = spread(line)
local base = entryAt(key, 0).sum
if units(sum, base) > units(entryAt(key, -1).sum, base) then return call("DEL", key) end
local before = call("LINDEX", key, -2)
if before and entry(0, before).sum == sum then
call("LTRIM", key, 0, -2)
else
call("LSET", key, -1, packed(at, sum, till, leads))
end
if call("LLEN", key) == 1 or till * 1000 <= now then
call("DEL", key)
else
expire(key, till * 1000, 0)
end
end
local function at(terms, cost) return { limit = terms.limit, window = terms.window, merge = terms.merge, cost = cost } end
function log.charge(terms, key, maxWait, reply)
local one = at(terms, 1)
local view = read(one, key)
if view.jumped then mend(view, key) end
local fits = room(one, view, terms.cost)
if fits > 0 then take(one, view, fits, key) end
local owed = at(terms, min(terms.cost - fits, terms.limit))
if owed.cost > 0 then
local later = wait(owed, read(owed, key), key)
if later <= maxWait + terms.window then
now, lead = now + later, later
take(owed, read(owed, key), 1, key)
now, lead = now - later, 0
end
end
view = read(one, key)
reply[#reply + 1] = view.total
reply[#reply + 1] = view.total > 0 and view.last + terms.window - now or 0
reply[#reply + 1] = wait(one, view, key)
return fits == terms.cost and 1 or 0
end
end
local MOST_TURNS = 1024
local function algorithmOf(plan, part) return algorithms[plan[part * 2 + 1]], plan[part * 2 + 2] end
local function noted(numbers)
local value = ""
for i = 1, #numbers do value = value .. pack(">i7", numbers[i]) end
return value
end
local function linesOf(plan, parts, used)
local lines = {}
for part = 1, parts do
local algorithm, terms = algorithmOf(plan, part)
for _, number in ipairs(algorithm.line(terms, placeOf(part))) do lines[#lines + 1] = number end
end
return lines
end
local function widthsOf(plan, parts)
local numbers = 0
for part = 1, parts do numbers = numbers + algorithmOf(plan, part).lineWidth end
return 7 * numbers, 7 * (1 + parts + 1 + 2 * numbers)
end
local function lastForgotten(parts)
local last = -1
for part = 1, parts do last = max(last, (forgottenAt(part))) end
return last
end
local function turnAt(turns, index, width) return (unpack(">i7", turns, (index - 1) * width + 1)) end
local function keepTurns(key, turns, width, before)
if turns == "" then return drop(key) end
set(key, turns, turnAt(turns, #turns / width, width), before)
end
local function comingTurns(key, width, parts, forgotten)
local turns = get(key) or ""
local count = #turns / width
local before = count > 0 and turnAt(turns, count, width) or 0
local past = 0
while past < count and turnAt(turns, past + 1, width) <= now do past = past + 1 end
local coming = sub(turns, past * width + 1)
if forgotten < 0 then return coming, before end
local left = {}
for from = 1, #coming, width do
local booked = unpack(">i7", coming, from + 7 * (1 + parts))
if booked > forgotten then left[#left + 1] = sub(coming, from, from + width - 1) end
end
if #left * width < #coming then
coming = table.concat(left)
keepTurns(key, coming, width, before)
end
return coming, before
end
local function without(turns, index, width)
return sub(turns, 1, (index - 1) * width) .. sub(turns, index * width + 1)
end
local function sameCosts(turns, width, plan, parts)
local costs = sub(noted(plan[2]), 8, 7 * (parts + 1))
for index = 1, #turns / width do
local from = (index - 1) * width + 8
if sub(turns, from, from + 7 * parts - 1) == costs then return index end
end
end
local function book(plan, parts, used, reply)
local maxWait, wait = plan[2][1], 0
for part = 1, parts do
local algorithm, terms = algorithmOf(plan, part)
wait = max(wait, algorithm.turn(terms, placeOf(part)))
end
local note = KEYS[used + keysOf(plan)]
local lineWidth, width = widthsOf(plan, parts)
local turns, before, since = "", 0, now
if wait > 0 then
local last = lastForgotten(parts)
turns, before = comingTurns(note, width, parts, last)
since = max(now, last + 1)
end
local first = #reply + 1
local soonest = turns ~= "" and sameCosts(turns, width, plan, parts)
local sooner = soonest and turnAt(turns, soonest, width) - now or huge
if sooner < wait and sooner <= maxWait then
now = now + sooner
for part = 1, parts do
local algorithm, terms = algorithmOf(plan, part)
algorithm.step(terms, placeOf(part), 1, 1, false, reply)
end
now = now - sooner
reply[#reply + 1] = sooner
local marks = soonest * width - 2 * lineWidth - 7
for at = marks + 1, soonest * width, 7 do reply[#reply + 1] = (unpack(">i7", turns, at)) end
keepTurns(note, without(turns, soonest, width), width, before)
elseif wait <= maxWait then
local standing = linesOf(plan, parts, used)
now, lead = now + wait, wait
for part = 1, parts do
local algorithm, terms = algorithmOf(plan, part)
algorithm.step(terms, placeOf(part), 1, 1, true, reply)
end
now, lead = now - wait, 0
reply[#reply + 1] = wait
reply[#reply + 1] = since
for _, number in ipairs(linesOf(plan, parts, used)) do reply[#reply + 1] = number end
for _, number in ipairs(standing) do reply[#reply + 1] = number end
else
for part = 1, parts do
local algorithm, terms = algorithmOf(plan, part)
algorithm.step(terms, placeOf(part), 1, 0, false, reply)
end
reply[first] = -1 - reply[first]
reply[#reply + 1] = min(sooner, wait) < huge and min(sooner, wait) or -1
end
end
modes.book = { keys = 1, answer = book }
local function lastInLine(turns, lineWidth, width, plan, parts, used)
local lines = noted(linesOf(plan, parts, used))
for index = #turns / width, 1, -1 do
local from = index * width - 2 * lineWidth + 1
if sub(turns, from, from + lineWidth - 1) == lines then return index end
end
end
local function restore(turns, index, lineWidth, width, plan, parts, used)
local at = index * width - lineWidth + 1
for part = 1, parts do
local algorithm, terms = algorithmOf(plan, part)
local line = {}
for i = 1, algorithm.lineWidth do
line[i] = unpack(">i7", turns, at)
at = at + 7
end
algorithm.restore(terms, placeOf(part), line)
end
end
local function leave(plan, parts, used, reply)
local turn, booked = plan[2][1], plan[2][parts + 2]
local last = lastForgotten(parts)
if turn <= now then
for part = 1, parts do
local algorithm, terms = algorithmOf(plan, part)
if booked > forgottenAt(part) then algorithm.give(terms, placeOf(part), turn) end
end
elseif booked > last then
local note = KEYS[used + keysOf(plan)]
local lineWidth, width = widthsOf(plan, parts)
local turns, before = comingTurns(note, width, parts, last)
local behind = #turns / width
while behind > 0 and turnAt(turns, behind, width) > turn do behind = behind - 1 end
turns = sub(turns, 1, behind * width) .. noted(plan[2]) .. sub(turns, behind * width + 1)
local last = lastInLine(turns, lineWidth, width, plan, parts, used)
while last do
restore(turns, last, lineWidth, width, plan, parts, used)
turns = without(turns, last, width)
last = lastInLine(turns, lineWidth, width, plan, parts, used)
end
if #turns > MOST_TURNS * width then turns = sub(turns, width + 1) end
if turns ~= "" or before > 0 then keepTurns(note, turns, width, before) end
end
reply[#reply + 1] = 0
end
modes.leave = { keys = 1, answer = leave }
local function charge(plan, parts, used, reply)
local first = #reply + 1
local fits = 1
for part = 1, parts do
local algorithm, terms = algorithmOf(plan, part)
algorithm.step(terms, placeOf(part), 1, nil, false)
end
for part = 1, parts do
local algorithm, terms = algorithmOf(plan, part)
fits = min(fits, algorithm.charge(terms, placeOf(part), plan[2], reply))
end
if fits == 0 then reply[first] = -1 - reply[first] end
end
modes.charge = { keys = 0, answer = charge }
local function reserve(plan, parts, used, reply)
local first = #reply + 1
local granted = 1
for part = 1, parts do
local algorithm, terms = algorithmOf(plan, part)
granted = algorithm.step(terms, placeOf(part), granted, nil, false)
end
for part = 1, parts do
local algorithm, terms = algorithmOf(plan, part)
algorithm.step(terms, placeOf(part), 1, granted, true, reply)
end
if granted == 0 then
reply[first] = -1 - reply[first]
return
end
local till = now + plan[2]
local debitedAt = max(now, lastForgotten(parts) + 1)
set(KEYS[used + keysOf(plan)], pack(">I7I7", debitedAt, till), till, 0)
end
modes.reserve = { keys = 1, answer = reserve }
local function settle(plan, parts, used, reply)
local note = KEYS[used + keysOf(plan)]
local value = get(note)
local debitedAt, till = 0, 0
if value then debitedAt, till = unpack(">I7I7", value) end
if till <= now then
reply[#reply + 1] = 0
return
end
for part = 1, parts do
local algorithm, terms = algorithmOf(plan, part)
algorithm.step(terms, placeOf(part), 1, nil, false)
end
drop(note)
for part = 1, parts do
local algorithm, terms = algorithmOf(plan, part)
if plan[2][part + 1] == 1 then
algorithm.charge(terms, placeOf(part), plan[2][1], {})
elseif debitedAt > forgottenAt(part) then
algorithm.give(terms, placeOf(part), debitedAt)
end
end
reply[#reply + 1] = 1
end
modes.settle = { keys = 1, answer = settle }
local function spendOrPeek(plan, parts)
local spend = plan[1] == "spend"
local count = plan[2]
local first = #reply + 1
local granted
if parts == 1 then
granted = algorithms[plan[3]].step(plan[4], placeOf(1), count, nil, spend, reply)
else
granted = count
for part = 1, parts do
granted = algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), granted, nil, false)
end
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), count, granted, spend, reply)
end
end
if granted < count then
reply[first] = -1 - reply[first]
if count > 1 then reply[#reply + 1] = granted end
end
end
local function giveBack(plan, parts)
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), 1, nil, false)
end
for part = 1, parts do
if plan[2] < 0 or plan[2] > forgottenAt(part) then
algorithms[plan[part * 2 + 1]].give(plan[part * 2 + 2], placeOf(part), plan[2])
end
end
reply[#reply + 1] = 0
end
local function forget(plan, parts)
local moments = {}
for part = 1, parts do
local place = placeOf(part)
local isRead, till = pcall(algorithms[plan[part * 2 + 1]].till, plan[part * 2 + 2], place)
if isRead and till > now then
local at, key, before = forgottenAt(part)
moments[key] = moments[key] or max(now, at + 1)
till = max(till, before)
set(key, pack(">I7I7", moments[key], till), till, before)
end
if not pcall(drop, place) then drop(place.record or place) end
end
reply[#reply + 1] = 0
end
local function answerTheRest()
while used < keys do
local plan = plans[numbers and numbers[asks + 1] or 1]
local parts = #plan / 2 - 1
told, atHand = #reply, plan
if plan[1] == "give" then
giveBack(plan, parts)
elseif plan[1] == "forget" then
forget(plan, parts)
elseif modes[plan[1]] then
modes[plan[1]].answer(plan, parts, used, reply)
else
spendOrPeek(plan, parts)
end
writeChanged()
asks = asks + 1
used = used + keysOf(plan)
if used < keys then answerPlain() end
end
end
if not values and keys > 1 and plans[1][3] and plans[1][3] ~= "log" then values = call("MGET", spread(KEYS)) end
for i = used + 1, values and keys or 0 do
if strings[KEYS[i]] == nil then strings[KEYS[i]] = values[i] end
end
while used < keys do
local done, wrong = pcall(answerTheRest)
if not done then
now, lead = reply[1], 0
takeBackReply()
records, changed = {}, {}
reply[told + 1] = { type(wrong) == "table" and wrong.err or wrong }
asks = asks + 1
used = used + keysOf(plans[numbers and numbers[asks] or 1])
end
end
return reply`,
  },
  bucket: {
    sha: "541690121d2282f22b44ca7b8e36ef91b2dc4676",
    source: `local call, try = redis.call, redis.pcall
local format, pack, unpack, spread = string.format, struct.pack, struct.unpack, unpack
local STRETCH = 900000
local CALLERS_SLACK = 60900
local callersNow = ARGV[1] ~= "" and ARGV[1] + 0
local LEFT_OUT = callersNow and math.huge or STRETCH
local now = callersNow
if not now then
local time = call("TIME")
now = time[1] * 1000000 + time[2]
end
local keys = #KEYS
local reply = { now, nil, nil }
local asks, used, told = 0, 0, 1
local values
local fresh = false
local counts, costs, written
if ARGV[5] then
if #ARGV == 4 + 3 then
local number, each = keys, 1
do
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
end
do
if keys == 1 then
local value = try("GET", KEYS[1])
fresh = value == false
values = { type(value) == "string" and value }
else
values = call("MGET", spread(KEYS))
local absent
for i = 1, keys do
if not values[i] then
absent = absent or {}
absent[#absent + 1] = KEYS[i]
end
end
fresh = absent and try("EXISTS", spread(absent)) == 0
end
end
local cost, span, parts, reach = ARGV[4] + 0, ARGV[5] + 0, ARGV[6] + 0, ARGV[7] + 0
local size = (parts == 1 and 12 or 22)
for i = 1, keys do
local key, value = KEYS[i], values and values[i]
if written then value = written[key] or value end
local length = value and #value
local from, whole = 1, length == size
local cost = counts and cost * counts[i] or cost
if costs then cost = cost * costs[i] end
local text, expiresAt, before, merges, gone, first, second, third
do
local full, part, of = now, 0, parts
before = 0
if whole then
if parts == 1 then
full = unpack(">i7", value, from)
else
local _
full, _, part, of = unpack(">i7I5I5I5", value, from)
end
before = full + 1
end
local ahead = cost
if full >= now then ahead = (full - now) * parts + part + cost end
if ahead <= span and of == parts and (before > 0 or fresh and not value) then
if parts == 1 then
first = ahead
text = pack(">i7I5", now + first, reach)
else
second = ahead % parts
first = (ahead - second) / parts
text = pack(">i7I5I5I5", now + first, reach, second, parts)
end
expiresAt = now + first + 1
end
end
if not text then break end
local failed
do
local stretch = expiresAt + -expiresAt % STRETCH
if callersNow then
failed = try("SET", key, text, "PX", format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK)).err
elseif stretch ~= before + -before % STRETCH then
failed = try("SET", key, text, "PXAT", format("%d", stretch / 1000)).err
elseif length ~= #text or try("SETRANGE", key, "0", text) ~= length then
failed = try("SET", key, text, "KEEPTTL").err
end
end
if failed then break end
if written and values then written[key] = text end
local at = told
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
told, used = at, i
end
asks = used
else
do
local max, sub, concat = math.max, string.sub, table.concat
local parts, head, size, at = 0, "", 0, 4
local terms, texts = {}, {}
local places, begins = {}, {}
while at <= #ARGV do
parts = parts + 1
local width, bytes = 4, (ARGV[at + 3] + 0) == 1 and 12 or 22
local label = ARGV[at]
head = head .. pack("Bc0B", #label, label, bytes)
places[parts], begins[parts] = at, size
for i = at + 1, at + width do terms[i] = ARGV[i] + 0 end
at, size = at + width + 1, size + bytes
end
head = head .. "\\0"
local begin = 8 + #head
size = begin + size - 1
local number, each = keys, parts
do
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
end
do
if keys == 1 then
local value = try("GET", KEYS[1])
fresh = value == false
values = { type(value) == "string" and value }
else
values = call("MGET", spread(KEYS))
local absent
for i = 1, keys do
if not values[i] then
absent = absent or {}
absent[#absent + 1] = KEYS[i]
end
end
fresh = absent and try("EXISTS", spread(absent)) == 0
end
end
for i = 1, keys do
local key, value = KEYS[i], values[i]
if written then value = written[key] or value end
local times = counts and counts[i] or 1
local ends, at, looked = 0, told, 0
local whole = value and (#value == size or #value > size + 7) and sub(value, 8, begin - 1) == head
while looked < parts do
local part = looked + 1
local from, place = begin + begins[part], places[part]
local count = costs and times * costs[(i - 1) * each + part] or times
local text, expiresAt, before, merges, gone, first, second, third
local cost, span, parts, reach = terms[place + 1], terms[place + 2], terms[place + 3], terms[place + 4]
cost = cost * count
do
local full, part, of = now, 0, parts
before = 0
if whole then
if parts == 1 then
full = unpack(">i7", value, from)
else
local _
full, _, part, of = unpack(">i7I5I5I5", value, from)
end
before = full + 1
end
local ahead = cost
if full >= now then ahead = (full - now) * parts + part + cost end
if ahead <= span and of == parts and (before > 0 or fresh and not value) then
if parts == 1 then
first = ahead
text = pack(">i7I5", now + first, reach)
else
second = ahead % parts
first = (ahead - second) / parts
text = pack(">i7I5I5I5", now + first, reach, second, parts)
end
expiresAt = now + first + 1
end
end
if not text then break end
looked = part
texts[part] = text
if expiresAt > ends then ends = expiresAt end
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
end
if looked < parts then break end
local held, holds, states, till = value, whole, concat(texts), ends
local text, expiresAt, before, length, failed
do
local rest = holds and sub(held, size + 1) or ""
text, expiresAt = pack(">I7", till) .. head .. states, till
before, length = holds and unpack(">I7", held) or 0, held and #held
if rest ~= "" then
local others = unpack(">I7", rest)
before = max(before, others)
if others + LEFT_OUT > now then text, expiresAt = text .. rest, max(till, others) end
end
do
local stretch = expiresAt + -expiresAt % STRETCH
if callersNow then
failed = try("SET", key, text, "PX", format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK)).err
elseif stretch ~= before + -before % STRETCH then
failed = try("SET", key, text, "PXAT", format("%d", stretch / 1000)).err
elseif length ~= #text or try("SETRANGE", key, "0", text) ~= length then
failed = try("SET", key, text, "KEEPTTL").err
end
end
if written and not failed then written[key] = text end
end
if failed then break end
asks, used, told = i, i, at
end
end
end
if used == keys then return reply end
for extra = #reply, told + 1, -1 do reply[extra] = nil end
end
local floor, ceil, max, byte, sub = math.floor, math.ceil, math.max, string.byte, string.sub
local plain, writers, sizes = {}, {}, {}
local function write(key, text, expiresAt, before)
local failed, length
do
local stretch = expiresAt + -expiresAt % STRETCH
if callersNow then
failed = try("SET", key, text, "PX", format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK)).err
elseif stretch ~= before + -before % STRETCH then
failed = try("SET", key, text, "PXAT", format("%d", stretch / 1000)).err
elseif length ~= #text or try("SETRANGE", key, "0", text) ~= length then
failed = try("SET", key, text, "KEEPTTL").err
end
end
if failed then error({ err = failed }) end
end
function sizes.bucket(terms)
return (terms.parts or 1) == 1 and 12 or 22
end
function plain.bucket(terms, key, value, count, reply)
local cost, span, parts, reach = count * (terms.cost * (terms.parts or 1) + (terms.costPart or 0)), terms.span * (terms.parts or 1) + (terms.spanPart or 0), terms.parts or 1, terms.reach
if span > 9007199254740991 then return nil end
local from, whole = 1, value and #value == (parts == 1 and 12 or 22)
local text, expiresAt, before, merges, gone, first, second, third
do
local full, part, of = now, 0, parts
before = 0
if whole then
if parts == 1 then
full = unpack(">i7", value, from)
else
local _
full, _, part, of = unpack(">i7I5I5I5", value, from)
end
before = full + 1
end
local ahead = cost
if full >= now then ahead = (full - now) * parts + part + cost end
if ahead <= span and of == parts and (before > 0 or fresh and not value) then
if parts == 1 then
first = ahead
text = pack(">i7I5", now + first, reach)
else
second = ahead % parts
first = (ahead - second) / parts
text = pack(">i7I5I5I5", now + first, reach, second, parts)
end
expiresAt = now + first + 1
end
end
if not text then return nil end
local at = #reply
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
return text, expiresAt, before, merges, gone
end
writers.bucket = write
local plans = cjson.decode(ARGV[2])
local numbers = ARGV[3] ~= "" and not ARGV[5] and cjson.decode(ARGV[3])
local strings = written or {}
local mayComeTwice = written or ARGV[4] and not ARGV[5]
local records = {}
local function priced(terms, units)
local own = {}
for name, value in pairs(terms) do own[name] = value end
local pieces = units * (terms.cost * (terms.parts or 1) + (terms.costPart or 0))
own.costPart = terms.parts and pieces % terms.parts
own.cost = (pieces - (own.costPart or 0)) / (terms.parts or 1)
return own
end
if counts then
numbers = {}
for ask = asks + 1, #counts do
local number = costs and ask + 1 or counts[ask]
numbers[ask] = number
if not plans[number] then
local plan = { spread(plans[1]) }
local parts = #plan / 2 - 1
plan[2] = counts[ask]
for part = 1, costs and parts or 0 do
plan[part * 2 + 2] = priced(plan[part * 2 + 2], costs[(ask - 1) * parts + part])
end
plans[number] = plan
end
end
end
local function readValues()
do
if keys == 1 then
local value = try("GET", KEYS[1])
fresh = value == false
values = { type(value) == "string" and value }
else
values = call("MGET", spread(KEYS))
local absent
for i = 1, keys do
if not values[i] then
absent = absent or {}
absent[#absent + 1] = KEYS[i]
end
end
fresh = absent and try("EXISTS", spread(absent)) == 0
end
end
end
local function takeBackReply()
for extra = #reply, told + 1, -1 do reply[extra] = nil end
end
local function placesOf(plan)
if plan.places then return plan.places, plan.width end
local places, width = {}, 0
for part = 4, #plan, 2 do
local with = plan[part].with
if not with then width = width + 1 end
places[#places + 1] = with and places[with] or width
end
plan.places, plan.width = places, width
return places, width
end
local function blocksOf(plan)
local blocks = {}
for part = 1, #plan / 2 - 1 do
local terms, size = plan[part * 2 + 2], sizes[plan[part * 2 + 1]]
if terms.label then
size = size(terms)
local block = blocks[terms.with] or { head = "\\0", size = 0, text = "", ends = 0 }
block.head = sub(block.head, 1, -2) .. pack("Bc0B", #terms.label, terms.label, size) .. "\\0"
terms.before, terms.size = block.size, size
block.size, block.last = block.size + size, part
blocks[part] = block
end
end
return blocks
end
local function stateOf(value, block, terms)
if not block or not value then return value end
local from = 8 + #block.head
local size = from + block.size - 1
if #value ~= size and #value <= size + 7 or sub(value, 8, from - 1) ~= block.head then return "" end
from = from + terms.before
return sub(value, from, from + terms.size - 1)
end
local function spendPlain()
if not values then readValues() end
local known = values or {}
local plan, parts, count, first, terms, writeFirst, places, width, blocks
local looked = {}
while used < keys do
local own = plans[numbers and numbers[asks + 1] or 1]
if own ~= plan then
if own[1] ~= "spend" then return end
for part = 3, #own, 2 do
if not plain[own[part]] then return end
end
plan, parts, count = own, #own / 2 - 1, own[2]
first, terms, writeFirst = plain[own[3]], own[4], writers[own[3]]
places, width = placesOf(own)
blocks = blocksOf(own)
end
told = #reply
if parts == 1 and not blocks[1] then
local key, value = KEYS[used + 1], known[used + 1]
if mayComeTwice and strings[key] ~= nil then value = strings[key] end
local a, b, c, d, e = first(terms, key, value, count, reply)
if not a then return end
writeFirst(key, a, b, c, d, e)
if mayComeTwice then strings[key] = a end
else
for part = 1, parts do
local i, n, own = used + places[part], part * 5, plan[part * 2 + 2]
if mayComeTwice and strings[KEYS[i]] ~= nil then known[i] = strings[KEYS[i]] end
local value = stateOf(known[i], blocks[part], own)
local a, b, c, d, e = plain[plan[part * 2 + 1]](own, KEYS[i], value, count, reply)
if not a then return takeBackReply() end
looked[n], looked[n + 1], looked[n + 2], looked[n + 3], looked[n + 4] = a, b, c, d, e
end
for part = 1, parts do
local i, n, block = used + places[part], part * 5, blocks[part]
if not block then
writers[plan[part * 2 + 1]](KEYS[i], looked[n], looked[n + 1], looked[n + 2], looked[n + 3], looked[n + 4])
if mayComeTwice then strings[KEYS[i]] = looked[n] end
else
block.text, block.ends = block.text .. looked[n], max(block.ends, looked[n + 1])
if part == block.last then
local record, ends = known[i], block.ends
local before = record and unpack(">I7", record) or 0
local rest = record and sub(record, 8 + #block.head + block.size) or ""
local till = rest ~= "" and unpack(">I7", rest) or 0
if till + LEFT_OUT <= now then rest = "" end
local text = pack(">I7", ends) .. block.head .. block.text .. rest
block.text, block.ends = "", 0
write(KEYS[i], text, rest ~= "" and max(ends, till) or ends, max(before, till))
if mayComeTwice then strings[KEYS[i]], records[KEYS[i]] = text, nil end
end
end
end
end
asks, used = asks + 1, used + width
end
end
local function answerPlain()
told = #reply
if not pcall(spendPlain) then takeBackReply() end
end
if not ARGV[5] and plans[1][1] == "spend" then
answerPlain()
if used == keys then return reply end
end
local function recordOf(value)
local labels, states, ends = {}, {}, {}
local last, at = 0, 1
while value and at <= #value do
local till, sizes, before = unpack(">I7", value, at), {}, #labels
at = at + 7
while byte(value, at) ~= 0 do
labels[#labels + 1], sizes[#sizes + 1], at = unpack("Bc0B", value, at)
end
at = at + 1
for i = 1, #sizes do
local label = labels[before + i]
states[label], ends[label] = sub(value, at, at + sizes[i] - 1), till
at = at + sizes[i]
end
last = max(last, till)
end
return { labels = labels, states = states, ends = ends, till = last }
end
local function labelsOf(plan)
if plan.labels then return plan.labels end
plan.labels = {}
for part, place in ipairs(placesOf(plan)) do
local label, labels = plan[part * 2 + 2].label, plan.labels[place] or {}
if label then
labels[#labels + 1], labels[label], plan.labels[place] = label, label, labels
end
end
return plan.labels
end
local function blockOf(record, labels)
local head, states, till = "", "", 0
for _, label in ipairs(labels) do
local state = record.states[label]
if state then
head, states = head .. pack("Bc0B", #label, label, #state), states .. state
till = max(till, record.ends[label])
end
end
if head == "" then return "", 0 end
return pack(">I7", till) .. head .. "\\0" .. states, till
end
local function textOf(record, own)
local text, till = blockOf(record, own)
local labels, tills, byTill = own, {}, {}
for _, label in ipairs(record.labels) do
local ends = record.ends[label]
if record.states[label] and not own[label] and ends + LEFT_OUT > reply[1] then
if labels == own then labels = { spread(own) } end
if not byTill[ends] then
tills[#tills + 1], byTill[ends] = ends, {}
end
table.insert(byTill[ends], label)
labels[#labels + 1] = label
end
end
if #tills > 1 then table.sort(tills, function(a, b) return a > b end) end
for _, ends in ipairs(tills) do text = text .. blockOf(record, byTill[ends]) end
record.labels, record.till = labels, max(till, tills[1] or 0)
return text, record.till
end
local min, huge = math.min, math.huge
local GRACE = 1000000
local algorithms = {}
local modes = {}
local lead = 0
local atHand
local function placeOf(part)
local key, terms = KEYS[used + placesOf(atHand)[part]], atHand[part * 2 + 2]
if not terms.label then return key end
terms.place = terms.place or { label = terms.label }
terms.place.record = key
return terms.place
end
local ONLY_NOW = { spend = true, peek = true, charge = true }
local function keysOf(plan)
local _, width = placesOf(plan)
local moments = ONLY_NOW[plan[1]] and 0 or #plan / 2 - 1
return width + moments + (modes[plan[1]] and modes[plan[1]].keys or 0)
end
local get
local function recordAt(key)
records[key] = records[key] or recordOf(get(key))
return records[key]
end
function get(key)
if type(key) == "table" then return recordAt(key.record).states[key.label] end
local value = strings[key] or call("GET", key)
strings[key] = value
return value
end
local function forgottenAt(part)
local _, width = placesOf(atHand)
local key = KEYS[used + width + part]
local value = strings[key]
if value == nil then value = try("GET", key) end
if type(value) ~= "string" or #value ~= 14 then return -1, key, 0 end
local at, till = unpack(">I7I7", value)
if till > 9007199254740991 then return -1, key, 0 end
return till > now and at <= now + GRACE and at or -1, key, till
end
local changed = {}
local function change(place, state, expiresAt)
local record = recordAt(place.record)
record.states[place.label], record.ends[place.label] = state, expiresAt
changed[place.record] = record
end
local function set(key, value, expiresAt, before)
if type(key) == "table" then return change(key, value, expiresAt) end
write(key, value, expiresAt, before)
strings[key] = value
end
local function drop(key)
if type(key) == "table" then return change(key, nil, 0) end
call("DEL", key)
strings[key] = false
end
local function writeChanged()
for place, labels in pairs(labelsOf(atHand)) do
local key = KEYS[used + place]
local record = changed[key]
if record then
local before = record.till
local text, till = textOf(record, labels)
if text ~= "" then set(key, text, till, before) elseif before > 0 then drop(key) end
changed[key] = nil
end
end
end
do
local bucket = {}
algorithms.bucket, algorithms.stepwise = bucket, bucket
local function read(terms, key)
local step = terms.step
local full, reach, part, anchor, lapsesAt, expiresAt, last, low = now, terms.reach, 0, nil, 0, 0, 0, 0
local value = get(key)
if value then
full, reach = unpack(">i7I5", value)
expiresAt = full + 1
local size = #value
if size % 2 == 1 then
last, low = unpack(">i7I7", value, size - 14)
size = size - 15
end
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
local jumped = full - now > reach * 1000 + max(terms.reach * 1000, GRACE)
if jumped then
full = now + reach * 1000
part = 0
anchor = nil
lapsesAt = 0
last = 0
low = 0
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
return at, full - at, part, reach, anchor, lapsesAt, jumped, expiresAt, last, low
end
local function keep(terms, key, full, part, reach, anchor, lapsesAt, before, last, low)
local value = pack(">i7I5", full, reach)
local expiresAt = full + 1
if terms.parts then value = value .. pack(">I5I5", part, terms.parts) end
if anchor then
value = value .. pack(">i7I7", anchor, lapsesAt)
expiresAt = max(expiresAt, lapsesAt)
end
if last >= now then value = value .. pack(">i7I7", last, low) .. "t" end
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
local at, ahead, part, reach, anchor, lapsesAt, jumped, before, last, low = read(terms, key)
granted = granted or room(terms, ahead, part, count)
if not reply then return granted end
if spend and granted > 0 then
if lead > 0 then
low = last > now - lead and min(low, ahead) or ahead
last = max(last, now)
end
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
keep(terms, key, at + ahead, part, terms.reach + ceil(lead / 1000), anchor, lapsesAt, before, last, low)
elseif spend and jumped then
keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before, last, low)
end
reply[#reply + 1] = ahead
if terms.parts or terms.step then reply[#reply + 1] = part end
if terms.step then reply[#reply + 1] = now - at end
return granted
end
function bucket.till(terms, key)
local _, _, _, _, _, _, _, expiresAt = read(terms, key)
return expiresAt
end
function bucket.give(terms, key, debitedAt)
local at, ahead, part, reach, anchor, lapsesAt, _, before, last, low = read(terms, key)
local whole, pieces = terms.cost, terms.costPart or 0
if debitedAt >= 0 then
local step = terms.step
local refilled = step and at - anchor - floor((debitedAt - anchor) / step) * step or now - debitedAt
whole = whole - max(refilled, 0)
if whole <= 0 or (last > now and low == 0) then return end
if last > now and whole >= low then whole, pieces = low, 0 end
end
low = max(low - whole - (pieces > 0 and 1 or 0), 0)
ahead = ahead - whole
part = part - pieces
if part < 0 then
part = part + terms.parts
ahead = ahead - 1
end
if ahead < 0 or (ahead == 0 and part == 0) then
ahead = 0
part = 0
if lapsesAt <= now then return drop(key) end
end
keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before, last, low)
end
end
local function spendOrPeek(plan, parts)
local spend = plan[1] == "spend"
local count = plan[2]
local first = #reply + 1
local granted
if parts == 1 then
granted = algorithms[plan[3]].step(plan[4], placeOf(1), count, nil, spend, reply)
else
granted = count
for part = 1, parts do
granted = algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), granted, nil, false)
end
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), count, granted, spend, reply)
end
end
if granted < count then
reply[first] = -1 - reply[first]
if count > 1 then reply[#reply + 1] = granted end
end
end
local function giveBack(plan, parts)
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), 1, nil, false)
end
for part = 1, parts do
if plan[2] < 0 or plan[2] > forgottenAt(part) then
algorithms[plan[part * 2 + 1]].give(plan[part * 2 + 2], placeOf(part), plan[2])
end
end
reply[#reply + 1] = 0
end
local function forget(plan, parts)
local moments = {}
for part = 1, parts do
local place = placeOf(part)
local isRead, till = pcall(algorithms[plan[part * 2 + 1]].till, plan[part * 2 + 2], place)
if isRead and till > now then
local at, key, before = forgottenAt(part)
moments[key] = moments[key] or max(now, at + 1)
till = max(till, before)
set(key, pack(">I7I7", moments[key], till), till, before)
end
if not pcall(drop, place) then drop(place.record or place) end
end
reply[#reply + 1] = 0
end
local function answerTheRest()
while used < keys do
local plan = plans[numbers and numbers[asks + 1] or 1]
local parts = #plan / 2 - 1
told, atHand = #reply, plan
if plan[1] == "give" then
giveBack(plan, parts)
elseif plan[1] == "forget" then
forget(plan, parts)
elseif modes[plan[1]] then
modes[plan[1]].answer(plan, parts, used, reply)
else
spendOrPeek(plan, parts)
end
writeChanged()
asks = asks + 1
used = used + keysOf(plan)
if used < keys then answerPlain() end
end
end
if not values and keys > 1 and plans[1][3] and plans[1][3] ~= "log" then values = call("MGET", spread(KEYS)) end
for i = used + 1, values and keys or 0 do
if strings[KEYS[i]] == nil then strings[KEYS[i]] = values[i] end
end
while used < keys do
local done, wrong = pcall(answerTheRest)
if not done then
now, lead = reply[1], 0
takeBackReply()
records, changed = {}, {}
reply[told + 1] = { type(wrong) == "table" and wrong.err or wrong }
asks = asks + 1
used = used + keysOf(plans[numbers and numbers[asks] or 1])
end
end
return reply`,
  },
  stepwise: {
    sha: "f9b9560e1d06a3631338152c3e23c7c25570d15f",
    source: `local call, try = redis.call, redis.pcall
local format, pack, unpack, spread = string.format, struct.pack, struct.unpack, unpack
local STRETCH = 900000
local CALLERS_SLACK = 60900
local callersNow = ARGV[1] ~= "" and ARGV[1] + 0
local LEFT_OUT = callersNow and math.huge or STRETCH
local now = callersNow
if not now then
local time = call("TIME")
now = time[1] * 1000000 + time[2]
end
local keys = #KEYS
local reply = { now, nil, nil }
local asks, used, told = 0, 0, 1
local values
local fresh = false
local counts, costs, written
if ARGV[5] then
if #ARGV == 6 + 3 then
local number, each = keys, 1
do
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
end
do
if keys == 1 then
local value = try("GET", KEYS[1])
fresh = value == false
values = { type(value) == "string" and value }
else
values = call("MGET", spread(KEYS))
local absent
for i = 1, keys do
if not values[i] then
absent = absent or {}
absent[#absent + 1] = KEYS[i]
end
end
fresh = absent and try("EXISTS", spread(absent)) == 0
end
end
local cost, span, parts, reach, step, life = ARGV[4] + 0, ARGV[5] + 0, ARGV[6] + 0, ARGV[7] + 0, ARGV[8] + 0, ARGV[9] + 0
local size = (parts == 1 and 26 or 36)
for i = 1, keys do
local key, value = KEYS[i], values and values[i]
if written then value = written[key] or value end
local length = value and #value
local from, whole = 1, length == size
local cost = counts and cost * counts[i] or cost
if costs then cost = cost * costs[i] end
local text, expiresAt, before, merges, gone, first, second, third
do
local full, part, of, anchor, lapsesAt = now, 0, parts, now, 0
before = 0
if whole then
local _
if parts == 1 then
full, _, anchor, lapsesAt = unpack(">i7I5i7I7", value, from)
else
full, _, part, of, anchor, lapsesAt = unpack(">i7I5I5I5i7I7", value, from)
end
before = lapsesAt > full and lapsesAt or full + 1
end
local at = now - (now - anchor) % step
if full < at or (full == at and part == 0) then
if now >= lapsesAt then at, anchor = now, now end
full, part = at, 0
end
local ahead = (full - at) * parts + part + cost
if ahead <= span and of == parts and (before > 0 or fresh and not value) then
second = ahead % parts
first = (ahead - second) / parts
third = now - at
full = at + first
if lapsesAt < now + life then lapsesAt = now + life end
if parts == 1 then
text = pack(">i7I5i7I7", full, reach, anchor, lapsesAt)
else
text = pack(">i7I5I5I5i7I7", full, reach, second, parts, anchor, lapsesAt)
end
expiresAt = lapsesAt > full and lapsesAt or full + 1
end
end
if not text then break end
local failed
do
local stretch = expiresAt + -expiresAt % STRETCH
if callersNow then
failed = try("SET", key, text, "PX", format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK)).err
elseif stretch ~= before + -before % STRETCH then
failed = try("SET", key, text, "PXAT", format("%d", stretch / 1000)).err
elseif length ~= #text or try("SETRANGE", key, "0", text) ~= length then
failed = try("SET", key, text, "KEEPTTL").err
end
end
if failed then break end
if written and values then written[key] = text end
local at = told
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
if third then
at = at + 1
reply[at] = third
end
told, used = at, i
end
asks = used
else
do
local max, sub, concat = math.max, string.sub, table.concat
local parts, head, size, at = 0, "", 0, 4
local terms, texts = {}, {}
local places, begins = {}, {}
while at <= #ARGV do
parts = parts + 1
local width, bytes = 6, (ARGV[at + 3] + 0) == 1 and 26 or 36
local label = ARGV[at]
head = head .. pack("Bc0B", #label, label, bytes)
places[parts], begins[parts] = at, size
for i = at + 1, at + width do terms[i] = ARGV[i] + 0 end
at, size = at + width + 1, size + bytes
end
head = head .. "\\0"
local begin = 8 + #head
size = begin + size - 1
local number, each = keys, parts
do
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
end
do
if keys == 1 then
local value = try("GET", KEYS[1])
fresh = value == false
values = { type(value) == "string" and value }
else
values = call("MGET", spread(KEYS))
local absent
for i = 1, keys do
if not values[i] then
absent = absent or {}
absent[#absent + 1] = KEYS[i]
end
end
fresh = absent and try("EXISTS", spread(absent)) == 0
end
end
for i = 1, keys do
local key, value = KEYS[i], values[i]
if written then value = written[key] or value end
local times = counts and counts[i] or 1
local ends, at, looked = 0, told, 0
local whole = value and (#value == size or #value > size + 7) and sub(value, 8, begin - 1) == head
while looked < parts do
local part = looked + 1
local from, place = begin + begins[part], places[part]
local count = costs and times * costs[(i - 1) * each + part] or times
local text, expiresAt, before, merges, gone, first, second, third
local cost, span, parts, reach, step, life = terms[place + 1], terms[place + 2], terms[place + 3], terms[place + 4], terms[place + 5], terms[place + 6]
cost = cost * count
do
local full, part, of, anchor, lapsesAt = now, 0, parts, now, 0
before = 0
if whole then
local _
if parts == 1 then
full, _, anchor, lapsesAt = unpack(">i7I5i7I7", value, from)
else
full, _, part, of, anchor, lapsesAt = unpack(">i7I5I5I5i7I7", value, from)
end
before = lapsesAt > full and lapsesAt or full + 1
end
local at = now - (now - anchor) % step
if full < at or (full == at and part == 0) then
if now >= lapsesAt then at, anchor = now, now end
full, part = at, 0
end
local ahead = (full - at) * parts + part + cost
if ahead <= span and of == parts and (before > 0 or fresh and not value) then
second = ahead % parts
first = (ahead - second) / parts
third = now - at
full = at + first
if lapsesAt < now + life then lapsesAt = now + life end
if parts == 1 then
text = pack(">i7I5i7I7", full, reach, anchor, lapsesAt)
else
text = pack(">i7I5I5I5i7I7", full, reach, second, parts, anchor, lapsesAt)
end
expiresAt = lapsesAt > full and lapsesAt or full + 1
end
end
if not text then break end
looked = part
texts[part] = text
if expiresAt > ends then ends = expiresAt end
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
if third then
at = at + 1
reply[at] = third
end
end
if looked < parts then break end
local held, holds, states, till = value, whole, concat(texts), ends
local text, expiresAt, before, length, failed
do
local rest = holds and sub(held, size + 1) or ""
text, expiresAt = pack(">I7", till) .. head .. states, till
before, length = holds and unpack(">I7", held) or 0, held and #held
if rest ~= "" then
local others = unpack(">I7", rest)
before = max(before, others)
if others + LEFT_OUT > now then text, expiresAt = text .. rest, max(till, others) end
end
do
local stretch = expiresAt + -expiresAt % STRETCH
if callersNow then
failed = try("SET", key, text, "PX", format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK)).err
elseif stretch ~= before + -before % STRETCH then
failed = try("SET", key, text, "PXAT", format("%d", stretch / 1000)).err
elseif length ~= #text or try("SETRANGE", key, "0", text) ~= length then
failed = try("SET", key, text, "KEEPTTL").err
end
end
if written and not failed then written[key] = text end
end
if failed then break end
asks, used, told = i, i, at
end
end
end
if used == keys then return reply end
for extra = #reply, told + 1, -1 do reply[extra] = nil end
end
local floor, ceil, max, byte, sub = math.floor, math.ceil, math.max, string.byte, string.sub
local plain, writers, sizes = {}, {}, {}
local function write(key, text, expiresAt, before)
local failed, length
do
local stretch = expiresAt + -expiresAt % STRETCH
if callersNow then
failed = try("SET", key, text, "PX", format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK)).err
elseif stretch ~= before + -before % STRETCH then
failed = try("SET", key, text, "PXAT", format("%d", stretch / 1000)).err
elseif length ~= #text or try("SETRANGE", key, "0", text) ~= length then
failed = try("SET", key, text, "KEEPTTL").err
end
end
if failed then error({ err = failed }) end
end
function sizes.stepwise(terms)
return (terms.parts or 1) == 1 and 26 or 36
end
function plain.stepwise(terms, key, value, count, reply)
local cost, span, parts, reach, step, life = count * (terms.cost * (terms.parts or 1) + (terms.costPart or 0)), terms.span * (terms.parts or 1) + (terms.spanPart or 0), terms.parts or 1, terms.reach, terms.step, terms.life
if span > 9007199254740991 then return nil end
local from, whole = 1, value and #value == (parts == 1 and 26 or 36)
local text, expiresAt, before, merges, gone, first, second, third
do
local full, part, of, anchor, lapsesAt = now, 0, parts, now, 0
before = 0
if whole then
local _
if parts == 1 then
full, _, anchor, lapsesAt = unpack(">i7I5i7I7", value, from)
else
full, _, part, of, anchor, lapsesAt = unpack(">i7I5I5I5i7I7", value, from)
end
before = lapsesAt > full and lapsesAt or full + 1
end
local at = now - (now - anchor) % step
if full < at or (full == at and part == 0) then
if now >= lapsesAt then at, anchor = now, now end
full, part = at, 0
end
local ahead = (full - at) * parts + part + cost
if ahead <= span and of == parts and (before > 0 or fresh and not value) then
second = ahead % parts
first = (ahead - second) / parts
third = now - at
full = at + first
if lapsesAt < now + life then lapsesAt = now + life end
if parts == 1 then
text = pack(">i7I5i7I7", full, reach, anchor, lapsesAt)
else
text = pack(">i7I5I5I5i7I7", full, reach, second, parts, anchor, lapsesAt)
end
expiresAt = lapsesAt > full and lapsesAt or full + 1
end
end
if not text then return nil end
local at = #reply
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
if third then
at = at + 1
reply[at] = third
end
return text, expiresAt, before, merges, gone
end
writers.stepwise = write
local plans = cjson.decode(ARGV[2])
local numbers = ARGV[3] ~= "" and not ARGV[5] and cjson.decode(ARGV[3])
local strings = written or {}
local mayComeTwice = written or ARGV[4] and not ARGV[5]
local records = {}
local function priced(terms, units)
local own = {}
for name, value in pairs(terms) do own[name] = value end
local pieces = units * (terms.cost * (terms.parts or 1) + (terms.costPart or 0))
own.costPart = terms.parts and pieces % terms.parts
own.cost = (pieces - (own.costPart or 0)) / (terms.parts or 1)
return own
end
if counts then
numbers = {}
for ask = asks + 1, #counts do
local number = costs and ask + 1 or counts[ask]
numbers[ask] = number
if not plans[number] then
local plan = { spread(plans[1]) }
local parts = #plan / 2 - 1
plan[2] = counts[ask]
for part = 1, costs and parts or 0 do
plan[part * 2 + 2] = priced(plan[part * 2 + 2], costs[(ask - 1) * parts + part])
end
plans[number] = plan
end
end
end
local function readValues()
do
if keys == 1 then
local value = try("GET", KEYS[1])
fresh = value == false
values = { type(value) == "string" and value }
else
values = call("MGET", spread(KEYS))
local absent
for i = 1, keys do
if not values[i] then
absent = absent or {}
absent[#absent + 1] = KEYS[i]
end
end
fresh = absent and try("EXISTS", spread(absent)) == 0
end
end
end
local function takeBackReply()
for extra = #reply, told + 1, -1 do reply[extra] = nil end
end
local function placesOf(plan)
if plan.places then return plan.places, plan.width end
local places, width = {}, 0
for part = 4, #plan, 2 do
local with = plan[part].with
if not with then width = width + 1 end
places[#places + 1] = with and places[with] or width
end
plan.places, plan.width = places, width
return places, width
end
local function blocksOf(plan)
local blocks = {}
for part = 1, #plan / 2 - 1 do
local terms, size = plan[part * 2 + 2], sizes[plan[part * 2 + 1]]
if terms.label then
size = size(terms)
local block = blocks[terms.with] or { head = "\\0", size = 0, text = "", ends = 0 }
block.head = sub(block.head, 1, -2) .. pack("Bc0B", #terms.label, terms.label, size) .. "\\0"
terms.before, terms.size = block.size, size
block.size, block.last = block.size + size, part
blocks[part] = block
end
end
return blocks
end
local function stateOf(value, block, terms)
if not block or not value then return value end
local from = 8 + #block.head
local size = from + block.size - 1
if #value ~= size and #value <= size + 7 or sub(value, 8, from - 1) ~= block.head then return "" end
from = from + terms.before
return sub(value, from, from + terms.size - 1)
end
local function spendPlain()
if not values then readValues() end
local known = values or {}
local plan, parts, count, first, terms, writeFirst, places, width, blocks
local looked = {}
while used < keys do
local own = plans[numbers and numbers[asks + 1] or 1]
if own ~= plan then
if own[1] ~= "spend" then return end
for part = 3, #own, 2 do
if not plain[own[part]] then return end
end
plan, parts, count = own, #own / 2 - 1, own[2]
first, terms, writeFirst = plain[own[3]], own[4], writers[own[3]]
places, width = placesOf(own)
blocks = blocksOf(own)
end
told = #reply
if parts == 1 and not blocks[1] then
local key, value = KEYS[used + 1], known[used + 1]
if mayComeTwice and strings[key] ~= nil then value = strings[key] end
local a, b, c, d, e = first(terms, key, value, count, reply)
if not a then return end
writeFirst(key, a, b, c, d, e)
if mayComeTwice then strings[key] = a end
else
for part = 1, parts do
local i, n, own = used + places[part], part * 5, plan[part * 2 + 2]
if mayComeTwice and strings[KEYS[i]] ~= nil then known[i] = strings[KEYS[i]] end
local value = stateOf(known[i], blocks[part], own)
local a, b, c, d, e = plain[plan[part * 2 + 1]](own, KEYS[i], value, count, reply)
if not a then return takeBackReply() end
looked[n], looked[n + 1], looked[n + 2], looked[n + 3], looked[n + 4] = a, b, c, d, e
end
for part = 1, parts do
local i, n, block = used + places[part], part * 5, blocks[part]
if not block then
writers[plan[part * 2 + 1]](KEYS[i], looked[n], looked[n + 1], looked[n + 2], looked[n + 3], looked[n + 4])
if mayComeTwice then strings[KEYS[i]] = looked[n] end
else
block.text, block.ends = block.text .. looked[n], max(block.ends, looked[n + 1])
if part == block.last then
local record, ends = known[i], block.ends
local before = record and unpack(">I7", record) or 0
local rest = record and sub(record, 8 + #block.head + block.size) or ""
local till = rest ~= "" and unpack(">I7", rest) or 0
if till + LEFT_OUT <= now then rest = "" end
local text = pack(">I7", ends) .. block.head .. block.text .. rest
block.text, block.ends = "", 0
write(KEYS[i], text, rest ~= "" and max(ends, till) or ends, max(before, till))
if mayComeTwice then strings[KEYS[i]], records[KEYS[i]] = text, nil end
end
end
end
end
asks, used = asks + 1, used + width
end
end
local function answerPlain()
told = #reply
if not pcall(spendPlain) then takeBackReply() end
end
if not ARGV[5] and plans[1][1] == "spend" then
answerPlain()
if used == keys then return reply end
end
local function recordOf(value)
local labels, states, ends = {}, {}, {}
local last, at = 0, 1
while value and at <= #value do
local till, sizes, before = unpack(">I7", value, at), {}, #labels
at = at + 7
while byte(value, at) ~= 0 do
labels[#labels + 1], sizes[#sizes + 1], at = unpack("Bc0B", value, at)
end
at = at + 1
for i = 1, #sizes do
local label = labels[before + i]
states[label], ends[label] = sub(value, at, at + sizes[i] - 1), till
at = at + sizes[i]
end
last = max(last, till)
end
return { labels = labels, states = states, ends = ends, till = last }
end
local function labelsOf(plan)
if plan.labels then return plan.labels end
plan.labels = {}
for part, place in ipairs(placesOf(plan)) do
local label, labels = plan[part * 2 + 2].label, plan.labels[place] or {}
if label then
labels[#labels + 1], labels[label], plan.labels[place] = label, label, labels
end
end
return plan.labels
end
local function blockOf(record, labels)
local head, states, till = "", "", 0
for _, label in ipairs(labels) do
local state = record.states[label]
if state then
head, states = head .. pack("Bc0B", #label, label, #state), states .. state
till = max(till, record.ends[label])
end
end
if head == "" then return "", 0 end
return pack(">I7", till) .. head .. "\\0" .. states, till
end
local function textOf(record, own)
local text, till = blockOf(record, own)
local labels, tills, byTill = own, {}, {}
for _, label in ipairs(record.labels) do
local ends = record.ends[label]
if record.states[label] and not own[label] and ends + LEFT_OUT > reply[1] then
if labels == own then labels = { spread(own) } end
if not byTill[ends] then
tills[#tills + 1], byTill[ends] = ends, {}
end
table.insert(byTill[ends], label)
labels[#labels + 1] = label
end
end
if #tills > 1 then table.sort(tills, function(a, b) return a > b end) end
for _, ends in ipairs(tills) do text = text .. blockOf(record, byTill[ends]) end
record.labels, record.till = labels, max(till, tills[1] or 0)
return text, record.till
end
local min, huge = math.min, math.huge
local GRACE = 1000000
local algorithms = {}
local modes = {}
local lead = 0
local atHand
local function placeOf(part)
local key, terms = KEYS[used + placesOf(atHand)[part]], atHand[part * 2 + 2]
if not terms.label then return key end
terms.place = terms.place or { label = terms.label }
terms.place.record = key
return terms.place
end
local ONLY_NOW = { spend = true, peek = true, charge = true }
local function keysOf(plan)
local _, width = placesOf(plan)
local moments = ONLY_NOW[plan[1]] and 0 or #plan / 2 - 1
return width + moments + (modes[plan[1]] and modes[plan[1]].keys or 0)
end
local get
local function recordAt(key)
records[key] = records[key] or recordOf(get(key))
return records[key]
end
function get(key)
if type(key) == "table" then return recordAt(key.record).states[key.label] end
local value = strings[key] or call("GET", key)
strings[key] = value
return value
end
local function forgottenAt(part)
local _, width = placesOf(atHand)
local key = KEYS[used + width + part]
local value = strings[key]
if value == nil then value = try("GET", key) end
if type(value) ~= "string" or #value ~= 14 then return -1, key, 0 end
local at, till = unpack(">I7I7", value)
if till > 9007199254740991 then return -1, key, 0 end
return till > now and at <= now + GRACE and at or -1, key, till
end
local changed = {}
local function change(place, state, expiresAt)
local record = recordAt(place.record)
record.states[place.label], record.ends[place.label] = state, expiresAt
changed[place.record] = record
end
local function set(key, value, expiresAt, before)
if type(key) == "table" then return change(key, value, expiresAt) end
write(key, value, expiresAt, before)
strings[key] = value
end
local function drop(key)
if type(key) == "table" then return change(key, nil, 0) end
call("DEL", key)
strings[key] = false
end
local function writeChanged()
for place, labels in pairs(labelsOf(atHand)) do
local key = KEYS[used + place]
local record = changed[key]
if record then
local before = record.till
local text, till = textOf(record, labels)
if text ~= "" then set(key, text, till, before) elseif before > 0 then drop(key) end
changed[key] = nil
end
end
end
do
local bucket = {}
algorithms.bucket, algorithms.stepwise = bucket, bucket
local function read(terms, key)
local step = terms.step
local full, reach, part, anchor, lapsesAt, expiresAt, last, low = now, terms.reach, 0, nil, 0, 0, 0, 0
local value = get(key)
if value then
full, reach = unpack(">i7I5", value)
expiresAt = full + 1
local size = #value
if size % 2 == 1 then
last, low = unpack(">i7I7", value, size - 14)
size = size - 15
end
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
local jumped = full - now > reach * 1000 + max(terms.reach * 1000, GRACE)
if jumped then
full = now + reach * 1000
part = 0
anchor = nil
lapsesAt = 0
last = 0
low = 0
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
return at, full - at, part, reach, anchor, lapsesAt, jumped, expiresAt, last, low
end
local function keep(terms, key, full, part, reach, anchor, lapsesAt, before, last, low)
local value = pack(">i7I5", full, reach)
local expiresAt = full + 1
if terms.parts then value = value .. pack(">I5I5", part, terms.parts) end
if anchor then
value = value .. pack(">i7I7", anchor, lapsesAt)
expiresAt = max(expiresAt, lapsesAt)
end
if last >= now then value = value .. pack(">i7I7", last, low) .. "t" end
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
local at, ahead, part, reach, anchor, lapsesAt, jumped, before, last, low = read(terms, key)
granted = granted or room(terms, ahead, part, count)
if not reply then return granted end
if spend and granted > 0 then
if lead > 0 then
low = last > now - lead and min(low, ahead) or ahead
last = max(last, now)
end
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
keep(terms, key, at + ahead, part, terms.reach + ceil(lead / 1000), anchor, lapsesAt, before, last, low)
elseif spend and jumped then
keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before, last, low)
end
reply[#reply + 1] = ahead
if terms.parts or terms.step then reply[#reply + 1] = part end
if terms.step then reply[#reply + 1] = now - at end
return granted
end
function bucket.till(terms, key)
local _, _, _, _, _, _, _, expiresAt = read(terms, key)
return expiresAt
end
function bucket.give(terms, key, debitedAt)
local at, ahead, part, reach, anchor, lapsesAt, _, before, last, low = read(terms, key)
local whole, pieces = terms.cost, terms.costPart or 0
if debitedAt >= 0 then
local step = terms.step
local refilled = step and at - anchor - floor((debitedAt - anchor) / step) * step or now - debitedAt
whole = whole - max(refilled, 0)
if whole <= 0 or (last > now and low == 0) then return end
if last > now and whole >= low then whole, pieces = low, 0 end
end
low = max(low - whole - (pieces > 0 and 1 or 0), 0)
ahead = ahead - whole
part = part - pieces
if part < 0 then
part = part + terms.parts
ahead = ahead - 1
end
if ahead < 0 or (ahead == 0 and part == 0) then
ahead = 0
part = 0
if lapsesAt <= now then return drop(key) end
end
keep(terms, key, at + ahead, part, reach, anchor, lapsesAt, before, last, low)
end
end
local function spendOrPeek(plan, parts)
local spend = plan[1] == "spend"
local count = plan[2]
local first = #reply + 1
local granted
if parts == 1 then
granted = algorithms[plan[3]].step(plan[4], placeOf(1), count, nil, spend, reply)
else
granted = count
for part = 1, parts do
granted = algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), granted, nil, false)
end
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), count, granted, spend, reply)
end
end
if granted < count then
reply[first] = -1 - reply[first]
if count > 1 then reply[#reply + 1] = granted end
end
end
local function giveBack(plan, parts)
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), 1, nil, false)
end
for part = 1, parts do
if plan[2] < 0 or plan[2] > forgottenAt(part) then
algorithms[plan[part * 2 + 1]].give(plan[part * 2 + 2], placeOf(part), plan[2])
end
end
reply[#reply + 1] = 0
end
local function forget(plan, parts)
local moments = {}
for part = 1, parts do
local place = placeOf(part)
local isRead, till = pcall(algorithms[plan[part * 2 + 1]].till, plan[part * 2 + 2], place)
if isRead and till > now then
local at, key, before = forgottenAt(part)
moments[key] = moments[key] or max(now, at + 1)
till = max(till, before)
set(key, pack(">I7I7", moments[key], till), till, before)
end
if not pcall(drop, place) then drop(place.record or place) end
end
reply[#reply + 1] = 0
end
local function answerTheRest()
while used < keys do
local plan = plans[numbers and numbers[asks + 1] or 1]
local parts = #plan / 2 - 1
told, atHand = #reply, plan
if plan[1] == "give" then
giveBack(plan, parts)
elseif plan[1] == "forget" then
forget(plan, parts)
elseif modes[plan[1]] then
modes[plan[1]].answer(plan, parts, used, reply)
else
spendOrPeek(plan, parts)
end
writeChanged()
asks = asks + 1
used = used + keysOf(plan)
if used < keys then answerPlain() end
end
end
if not values and keys > 1 and plans[1][3] and plans[1][3] ~= "log" then values = call("MGET", spread(KEYS)) end
for i = used + 1, values and keys or 0 do
if strings[KEYS[i]] == nil then strings[KEYS[i]] = values[i] end
end
while used < keys do
local done, wrong = pcall(answerTheRest)
if not done then
now, lead = reply[1], 0
takeBackReply()
records, changed = {}, {}
reply[told + 1] = { type(wrong) == "table" and wrong.err or wrong }
asks = asks + 1
used = used + keysOf(plans[numbers and numbers[asks] or 1])
end
end
return reply`,
  },
  fixedWindow: {
    sha: "de063285b01940e1d63d0d4d36c102b9c4dcce41",
    source: `local call, try = redis.call, redis.pcall
local format, pack, unpack, spread = string.format, struct.pack, struct.unpack, unpack
local STRETCH = 900000
local CALLERS_SLACK = 60900
local callersNow = ARGV[1] ~= "" and ARGV[1] + 0
local LEFT_OUT = callersNow and math.huge or STRETCH
local now = callersNow
if not now then
local time = call("TIME")
now = time[1] * 1000000 + time[2]
end
local keys = #KEYS
local reply = { now, nil, nil }
local asks, used, told = 0, 0, 1
local values
local fresh = false
local counts, costs, written
if ARGV[5] then
if #ARGV == 4 + 3 then
local number, each = keys, 1
do
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
end
do
if keys == 1 then
local value = try("GET", KEYS[1])
fresh = value == false
values = { type(value) == "string" and value }
else
values = call("MGET", spread(KEYS))
local absent
for i = 1, keys do
if not values[i] then
absent = absent or {}
absent[#absent + 1] = KEYS[i]
end
end
fresh = absent and try("EXISTS", spread(absent)) == 0
end
end
local cost, limit, window, aligned = ARGV[4] + 0, ARGV[5] + 0, ARGV[6] + 0, ARGV[7] + 0
local size = (25)
for i = 1, keys do
local key, value = KEYS[i], values and values[i]
if written then value = written[key] or value end
local length = value and #value
local from, whole = 1, length == size
local cost = counts and cost * counts[i] or cost
if costs then cost = cost * costs[i] end
local text, expiresAt, before, merges, gone, first, second, third
do
local start, stop, used, reach = now, now, 0, 0
before = 0
if whole then
start, stop, used, reach = unpack(">I7I7I6I5", value, from)
before = stop
if stop <= now then start, stop, used, reach = now, now, 0, 0 end
end
local ends = aligned == 1 and now - now % window + window or start + window
if stop == now then stop = ends end
used = used + cost
if used <= limit and start <= now and stop == ends and (before > 0 or fresh and not value) then
first, second = used, stop - now
expiresAt = stop
if reach < window / 1000 then reach = window / 1000 end
text = pack(">I7I7I6I5", start, stop, used, reach)
end
end
if not text then break end
local failed
do
local stretch = expiresAt + -expiresAt % STRETCH
if callersNow then
failed = try("SET", key, text, "PX", format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK)).err
elseif stretch ~= before + -before % STRETCH then
failed = try("SET", key, text, "PXAT", format("%d", stretch / 1000)).err
elseif length ~= #text or try("SETRANGE", key, "0", text) ~= length then
failed = try("SET", key, text, "KEEPTTL").err
end
end
if failed then break end
if written and values then written[key] = text end
local at = told
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
told, used = at, i
end
asks = used
else
do
local max, sub, concat = math.max, string.sub, table.concat
local parts, head, size, at = 0, "", 0, 4
local terms, texts = {}, {}
local places, begins = {}, {}
while at <= #ARGV do
parts = parts + 1
local width, bytes = 4, 25
local label = ARGV[at]
head = head .. pack("Bc0B", #label, label, bytes)
places[parts], begins[parts] = at, size
for i = at + 1, at + width do terms[i] = ARGV[i] + 0 end
at, size = at + width + 1, size + bytes
end
head = head .. "\\0"
local begin = 8 + #head
size = begin + size - 1
local number, each = keys, parts
do
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
end
do
if keys == 1 then
local value = try("GET", KEYS[1])
fresh = value == false
values = { type(value) == "string" and value }
else
values = call("MGET", spread(KEYS))
local absent
for i = 1, keys do
if not values[i] then
absent = absent or {}
absent[#absent + 1] = KEYS[i]
end
end
fresh = absent and try("EXISTS", spread(absent)) == 0
end
end
for i = 1, keys do
local key, value = KEYS[i], values[i]
if written then value = written[key] or value end
local times = counts and counts[i] or 1
local ends, at, looked = 0, told, 0
local whole = value and (#value == size or #value > size + 7) and sub(value, 8, begin - 1) == head
while looked < parts do
local part = looked + 1
local from, place = begin + begins[part], places[part]
local count = costs and times * costs[(i - 1) * each + part] or times
local text, expiresAt, before, merges, gone, first, second, third
local cost, limit, window, aligned = terms[place + 1], terms[place + 2], terms[place + 3], terms[place + 4]
cost = cost * count
do
local start, stop, used, reach = now, now, 0, 0
before = 0
if whole then
start, stop, used, reach = unpack(">I7I7I6I5", value, from)
before = stop
if stop <= now then start, stop, used, reach = now, now, 0, 0 end
end
local ends = aligned == 1 and now - now % window + window or start + window
if stop == now then stop = ends end
used = used + cost
if used <= limit and start <= now and stop == ends and (before > 0 or fresh and not value) then
first, second = used, stop - now
expiresAt = stop
if reach < window / 1000 then reach = window / 1000 end
text = pack(">I7I7I6I5", start, stop, used, reach)
end
end
if not text then break end
looked = part
texts[part] = text
if expiresAt > ends then ends = expiresAt end
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
end
if looked < parts then break end
local held, holds, states, till = value, whole, concat(texts), ends
local text, expiresAt, before, length, failed
do
local rest = holds and sub(held, size + 1) or ""
text, expiresAt = pack(">I7", till) .. head .. states, till
before, length = holds and unpack(">I7", held) or 0, held and #held
if rest ~= "" then
local others = unpack(">I7", rest)
before = max(before, others)
if others + LEFT_OUT > now then text, expiresAt = text .. rest, max(till, others) end
end
do
local stretch = expiresAt + -expiresAt % STRETCH
if callersNow then
failed = try("SET", key, text, "PX", format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK)).err
elseif stretch ~= before + -before % STRETCH then
failed = try("SET", key, text, "PXAT", format("%d", stretch / 1000)).err
elseif length ~= #text or try("SETRANGE", key, "0", text) ~= length then
failed = try("SET", key, text, "KEEPTTL").err
end
end
if written and not failed then written[key] = text end
end
if failed then break end
asks, used, told = i, i, at
end
end
end
if used == keys then return reply end
for extra = #reply, told + 1, -1 do reply[extra] = nil end
end
local floor, ceil, max, byte, sub = math.floor, math.ceil, math.max, string.byte, string.sub
local plain, writers, sizes = {}, {}, {}
local function write(key, text, expiresAt, before)
local failed, length
do
local stretch = expiresAt + -expiresAt % STRETCH
if callersNow then
failed = try("SET", key, text, "PX", format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK)).err
elseif stretch ~= before + -before % STRETCH then
failed = try("SET", key, text, "PXAT", format("%d", stretch / 1000)).err
elseif length ~= #text or try("SETRANGE", key, "0", text) ~= length then
failed = try("SET", key, text, "KEEPTTL").err
end
end
if failed then error({ err = failed }) end
end
function sizes.fixedWindow(terms)
return 25
end
function plain.fixedWindow(terms, key, value, count, reply)
local cost, limit, window, aligned = count * terms.cost, terms.limit, terms.window, terms.aligned
local from, whole = 1, value and #value == (25)
local text, expiresAt, before, merges, gone, first, second, third
do
local start, stop, used, reach = now, now, 0, 0
before = 0
if whole then
start, stop, used, reach = unpack(">I7I7I6I5", value, from)
before = stop
if stop <= now then start, stop, used, reach = now, now, 0, 0 end
end
local ends = aligned == 1 and now - now % window + window or start + window
if stop == now then stop = ends end
used = used + cost
if used <= limit and start <= now and stop == ends and (before > 0 or fresh and not value) then
first, second = used, stop - now
expiresAt = stop
if reach < window / 1000 then reach = window / 1000 end
text = pack(">I7I7I6I5", start, stop, used, reach)
end
end
if not text then return nil end
local at = #reply
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
return text, expiresAt, before, merges, gone
end
writers.fixedWindow = write
local plans = cjson.decode(ARGV[2])
local numbers = ARGV[3] ~= "" and not ARGV[5] and cjson.decode(ARGV[3])
local strings = written or {}
local mayComeTwice = written or ARGV[4] and not ARGV[5]
local records = {}
local function priced(terms, units)
local own = {}
for name, value in pairs(terms) do own[name] = value end
local pieces = units * (terms.cost * (terms.parts or 1) + (terms.costPart or 0))
own.costPart = terms.parts and pieces % terms.parts
own.cost = (pieces - (own.costPart or 0)) / (terms.parts or 1)
return own
end
if counts then
numbers = {}
for ask = asks + 1, #counts do
local number = costs and ask + 1 or counts[ask]
numbers[ask] = number
if not plans[number] then
local plan = { spread(plans[1]) }
local parts = #plan / 2 - 1
plan[2] = counts[ask]
for part = 1, costs and parts or 0 do
plan[part * 2 + 2] = priced(plan[part * 2 + 2], costs[(ask - 1) * parts + part])
end
plans[number] = plan
end
end
end
local function readValues()
do
if keys == 1 then
local value = try("GET", KEYS[1])
fresh = value == false
values = { type(value) == "string" and value }
else
values = call("MGET", spread(KEYS))
local absent
for i = 1, keys do
if not values[i] then
absent = absent or {}
absent[#absent + 1] = KEYS[i]
end
end
fresh = absent and try("EXISTS", spread(absent)) == 0
end
end
end
local function takeBackReply()
for extra = #reply, told + 1, -1 do reply[extra] = nil end
end
local function placesOf(plan)
if plan.places then return plan.places, plan.width end
local places, width = {}, 0
for part = 4, #plan, 2 do
local with = plan[part].with
if not with then width = width + 1 end
places[#places + 1] = with and places[with] or width
end
plan.places, plan.width = places, width
return places, width
end
local function blocksOf(plan)
local blocks = {}
for part = 1, #plan / 2 - 1 do
local terms, size = plan[part * 2 + 2], sizes[plan[part * 2 + 1]]
if terms.label then
size = size(terms)
local block = blocks[terms.with] or { head = "\\0", size = 0, text = "", ends = 0 }
block.head = sub(block.head, 1, -2) .. pack("Bc0B", #terms.label, terms.label, size) .. "\\0"
terms.before, terms.size = block.size, size
block.size, block.last = block.size + size, part
blocks[part] = block
end
end
return blocks
end
local function stateOf(value, block, terms)
if not block or not value then return value end
local from = 8 + #block.head
local size = from + block.size - 1
if #value ~= size and #value <= size + 7 or sub(value, 8, from - 1) ~= block.head then return "" end
from = from + terms.before
return sub(value, from, from + terms.size - 1)
end
local function spendPlain()
if not values then readValues() end
local known = values or {}
local plan, parts, count, first, terms, writeFirst, places, width, blocks
local looked = {}
while used < keys do
local own = plans[numbers and numbers[asks + 1] or 1]
if own ~= plan then
if own[1] ~= "spend" then return end
for part = 3, #own, 2 do
if not plain[own[part]] then return end
end
plan, parts, count = own, #own / 2 - 1, own[2]
first, terms, writeFirst = plain[own[3]], own[4], writers[own[3]]
places, width = placesOf(own)
blocks = blocksOf(own)
end
told = #reply
if parts == 1 and not blocks[1] then
local key, value = KEYS[used + 1], known[used + 1]
if mayComeTwice and strings[key] ~= nil then value = strings[key] end
local a, b, c, d, e = first(terms, key, value, count, reply)
if not a then return end
writeFirst(key, a, b, c, d, e)
if mayComeTwice then strings[key] = a end
else
for part = 1, parts do
local i, n, own = used + places[part], part * 5, plan[part * 2 + 2]
if mayComeTwice and strings[KEYS[i]] ~= nil then known[i] = strings[KEYS[i]] end
local value = stateOf(known[i], blocks[part], own)
local a, b, c, d, e = plain[plan[part * 2 + 1]](own, KEYS[i], value, count, reply)
if not a then return takeBackReply() end
looked[n], looked[n + 1], looked[n + 2], looked[n + 3], looked[n + 4] = a, b, c, d, e
end
for part = 1, parts do
local i, n, block = used + places[part], part * 5, blocks[part]
if not block then
writers[plan[part * 2 + 1]](KEYS[i], looked[n], looked[n + 1], looked[n + 2], looked[n + 3], looked[n + 4])
if mayComeTwice then strings[KEYS[i]] = looked[n] end
else
block.text, block.ends = block.text .. looked[n], max(block.ends, looked[n + 1])
if part == block.last then
local record, ends = known[i], block.ends
local before = record and unpack(">I7", record) or 0
local rest = record and sub(record, 8 + #block.head + block.size) or ""
local till = rest ~= "" and unpack(">I7", rest) or 0
if till + LEFT_OUT <= now then rest = "" end
local text = pack(">I7", ends) .. block.head .. block.text .. rest
block.text, block.ends = "", 0
write(KEYS[i], text, rest ~= "" and max(ends, till) or ends, max(before, till))
if mayComeTwice then strings[KEYS[i]], records[KEYS[i]] = text, nil end
end
end
end
end
asks, used = asks + 1, used + width
end
end
local function answerPlain()
told = #reply
if not pcall(spendPlain) then takeBackReply() end
end
if not ARGV[5] and plans[1][1] == "spend" then
answerPlain()
if used == keys then return reply end
end
local function recordOf(value)
local labels, states, ends = {}, {}, {}
local last, at = 0, 1
while value and at <= #value do
local till, sizes, before = unpack(">I7", value, at), {}, #labels
at = at + 7
while byte(value, at) ~= 0 do
labels[#labels + 1], sizes[#sizes + 1], at = unpack("Bc0B", value, at)
end
at = at + 1
for i = 1, #sizes do
local label = labels[before + i]
states[label], ends[label] = sub(value, at, at + sizes[i] - 1), till
at = at + sizes[i]
end
last = max(last, till)
end
return { labels = labels, states = states, ends = ends, till = last }
end
local function labelsOf(plan)
if plan.labels then return plan.labels end
plan.labels = {}
for part, place in ipairs(placesOf(plan)) do
local label, labels = plan[part * 2 + 2].label, plan.labels[place] or {}
if label then
labels[#labels + 1], labels[label], plan.labels[place] = label, label, labels
end
end
return plan.labels
end
local function blockOf(record, labels)
local head, states, till = "", "", 0
for _, label in ipairs(labels) do
local state = record.states[label]
if state then
head, states = head .. pack("Bc0B", #label, label, #state), states .. state
till = max(till, record.ends[label])
end
end
if head == "" then return "", 0 end
return pack(">I7", till) .. head .. "\\0" .. states, till
end
local function textOf(record, own)
local text, till = blockOf(record, own)
local labels, tills, byTill = own, {}, {}
for _, label in ipairs(record.labels) do
local ends = record.ends[label]
if record.states[label] and not own[label] and ends + LEFT_OUT > reply[1] then
if labels == own then labels = { spread(own) } end
if not byTill[ends] then
tills[#tills + 1], byTill[ends] = ends, {}
end
table.insert(byTill[ends], label)
labels[#labels + 1] = label
end
end
if #tills > 1 then table.sort(tills, function(a, b) return a > b end) end
for _, ends in ipairs(tills) do text = text .. blockOf(record, byTill[ends]) end
record.labels, record.till = labels, max(till, tills[1] or 0)
return text, record.till
end
local min, huge = math.min, math.huge
local GRACE = 1000000
local algorithms = {}
local modes = {}
local lead = 0
local atHand
local function placeOf(part)
local key, terms = KEYS[used + placesOf(atHand)[part]], atHand[part * 2 + 2]
if not terms.label then return key end
terms.place = terms.place or { label = terms.label }
terms.place.record = key
return terms.place
end
local ONLY_NOW = { spend = true, peek = true, charge = true }
local function keysOf(plan)
local _, width = placesOf(plan)
local moments = ONLY_NOW[plan[1]] and 0 or #plan / 2 - 1
return width + moments + (modes[plan[1]] and modes[plan[1]].keys or 0)
end
local get
local function recordAt(key)
records[key] = records[key] or recordOf(get(key))
return records[key]
end
function get(key)
if type(key) == "table" then return recordAt(key.record).states[key.label] end
local value = strings[key] or call("GET", key)
strings[key] = value
return value
end
local function forgottenAt(part)
local _, width = placesOf(atHand)
local key = KEYS[used + width + part]
local value = strings[key]
if value == nil then value = try("GET", key) end
if type(value) ~= "string" or #value ~= 14 then return -1, key, 0 end
local at, till = unpack(">I7I7", value)
if till > 9007199254740991 then return -1, key, 0 end
return till > now and at <= now + GRACE and at or -1, key, till
end
local changed = {}
local function change(place, state, expiresAt)
local record = recordAt(place.record)
record.states[place.label], record.ends[place.label] = state, expiresAt
changed[place.record] = record
end
local function set(key, value, expiresAt, before)
if type(key) == "table" then return change(key, value, expiresAt) end
write(key, value, expiresAt, before)
strings[key] = value
end
local function drop(key)
if type(key) == "table" then return change(key, nil, 0) end
call("DEL", key)
strings[key] = false
end
local function writeChanged()
for place, labels in pairs(labelsOf(atHand)) do
local key = KEYS[used + place]
local record = changed[key]
if record then
local before = record.till
local text, till = textOf(record, labels)
if text ~= "" then set(key, text, till, before) elseif before > 0 then drop(key) end
changed[key] = nil
end
end
end
do
local fixedWindow = {}
algorithms.fixedWindow = fixedWindow
local function read(terms, key)
local start, stop, used, reach, booked, expiresAt = now, now, 0, 0, 0, 0
local value = get(key)
if value then
start, stop, used, reach = unpack(">I7I7I6I5", value)
booked = #value - 25
expiresAt = stop
if stop <= now then start, stop, used, reach, booked = now, now, 0, 0, 0 end
end
local jumped = stop - now > reach * 1000 + max(terms.window, GRACE)
if jumped then
start = booked == 1 and now + reach * 1000 - (stop - start) or now
stop = now + reach * 1000
end
local opens = booked == 1 and max(start - now, 0) or 0
return start, stop, used, reach, jumped, expiresAt, opens, booked
end
local function keep(key, start, stop, used, reach, before, booked)
local value = pack(">I7I7I6I5", start, stop, used, reach)
set(key, booked == 1 and value .. "b" or value, stop, before)
end
local function opened(terms, start, stop, reach)
local window = terms.window
if terms.aligned == 1 then
stop = max(stop, (floor(now / window) + 1) * window)
elseif stop - start < window then
stop = max(stop, now + window)
end
return stop, max(reach, ceil((window + lead) / 1000))
end
function fixedWindow.step(terms, key, count, granted, spend, reply)
local start, stop, used, reach, jumped, before, opens, booked = read(terms, key)
granted = granted or opens > 0 and 0 or min(count, max(floor((terms.limit - used) / terms.cost), 0))
if not reply then return granted end
if spend and granted > 0 then
if lead > 0 and stop == now then booked = 1 end
stop, reach = opened(terms, start, stop, reach)
used = used + granted * terms.cost
end
if spend and (granted > 0 or jumped) then keep(key, start, stop, used, reach, before, booked) end
reply[#reply + 1] = used
reply[#reply + 1] = stop - now
if granted < count then reply[#reply + 1] = opens end
return granted
end
function fixedWindow.till(terms, key)
local _, _, _, _, _, expiresAt = read(terms, key)
return expiresAt
end
function fixedWindow.give(terms, key, debitedAt)
local start, stop, used, reach, _, before, opens, booked = read(terms, key)
if debitedAt >= 0 and debitedAt < start then return end
local left = used - terms.cost
if left <= 0 and opens > 0 then
local back = min(ceil(opens / terms.window), floor(-left / terms.limit) + 1)
left = left + back * terms.limit
start = start - back * terms.window
stop = start + terms.window
end
used = max(left, 0)
if used == 0 and start <= now then return drop(key) end
keep(key, start, stop, used, reach, before, booked)
end
end
local function spendOrPeek(plan, parts)
local spend = plan[1] == "spend"
local count = plan[2]
local first = #reply + 1
local granted
if parts == 1 then
granted = algorithms[plan[3]].step(plan[4], placeOf(1), count, nil, spend, reply)
else
granted = count
for part = 1, parts do
granted = algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), granted, nil, false)
end
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), count, granted, spend, reply)
end
end
if granted < count then
reply[first] = -1 - reply[first]
if count > 1 then reply[#reply + 1] = granted end
end
end
local function giveBack(plan, parts)
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), 1, nil, false)
end
for part = 1, parts do
if plan[2] < 0 or plan[2] > forgottenAt(part) then
algorithms[plan[part * 2 + 1]].give(plan[part * 2 + 2], placeOf(part), plan[2])
end
end
reply[#reply + 1] = 0
end
local function forget(plan, parts)
local moments = {}
for part = 1, parts do
local place = placeOf(part)
local isRead, till = pcall(algorithms[plan[part * 2 + 1]].till, plan[part * 2 + 2], place)
if isRead and till > now then
local at, key, before = forgottenAt(part)
moments[key] = moments[key] or max(now, at + 1)
till = max(till, before)
set(key, pack(">I7I7", moments[key], till), till, before)
end
if not pcall(drop, place) then drop(place.record or place) end
end
reply[#reply + 1] = 0
end
local function answerTheRest()
while used < keys do
local plan = plans[numbers and numbers[asks + 1] or 1]
local parts = #plan / 2 - 1
told, atHand = #reply, plan
if plan[1] == "give" then
giveBack(plan, parts)
elseif plan[1] == "forget" then
forget(plan, parts)
elseif modes[plan[1]] then
modes[plan[1]].answer(plan, parts, used, reply)
else
spendOrPeek(plan, parts)
end
writeChanged()
asks = asks + 1
used = used + keysOf(plan)
if used < keys then answerPlain() end
end
end
if not values and keys > 1 and plans[1][3] and plans[1][3] ~= "log" then values = call("MGET", spread(KEYS)) end
for i = used + 1, values and keys or 0 do
if strings[KEYS[i]] == nil then strings[KEYS[i]] = values[i] end
end
while used < keys do
local done, wrong = pcall(answerTheRest)
if not done then
now, lead = reply[1], 0
takeBackReply()
records, changed = {}, {}
reply[told + 1] = { type(wrong) == "table" and wrong.err or wrong }
asks = asks + 1
used = used + keysOf(plans[numbers and numbers[asks] or 1])
end
end
return reply`,
  },
  log: {
    sha: "b3ef25d42823881e2b81be4125b7b5bdc4ae89f3",
    source: `local call, try = redis.call, redis.pcall
local format, pack, unpack, spread = string.format, struct.pack, struct.unpack, unpack
local STRETCH = 900000
local CALLERS_SLACK = 60900
local callersNow = ARGV[1] ~= "" and ARGV[1] + 0
local LEFT_OUT = callersNow and math.huge or STRETCH
local now = callersNow
if not now then
local time = call("TIME")
now = time[1] * 1000000 + time[2]
end
local keys = #KEYS
local reply = { now, nil, nil }
local asks, used, told = 0, 0, 1
local values
local fresh = false
local counts, costs, written
if ARGV[5] then
if #ARGV == 4 + 3 then
local number, each = keys, 1
do
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
end
local cost, limit, window, merge = ARGV[4] + 0, ARGV[5] + 0, ARGV[6] + 0, ARGV[7] + 0
local size = (0)
for i = 1, keys do
local key, value = KEYS[i], values and values[i]
if written then value = written[key] or value end
local length = value and #value
local from, whole = 1, length == size
local cost = counts and cost * counts[i] or cost
if costs then cost = cost * costs[i] end
local text, expiresAt, before, merges, gone, first, second, third
do
local WRAP = 281474976710656
local head = try("LRANGE", key, "0", "2")
local newest = head[3] and try("LINDEX", key, "-1") or head[2]
if newest and #newest == 19 and #head[1] >= 19 then
local from = now - window + 1
local _, base = unpack(">I7I6", head[1])
local left = 0
local oldest, rest, passed = head[2], nil, 0
gone = 0
while oldest and #oldest >= 19 do
local at, sum, till = unpack(">I7I6I6", oldest)
if at >= from then break end
if till * 1000 <= now then gone = gone + 1 end
left, base = left + 1, sum
if left == 2 then
rest, passed = try("LRANGE", key, "3", "10"), 1
elseif left == 10 then
rest, passed = try("LRANGE", key, "11", "32"), 9
end
oldest = left == 1 and head[3] or rest and rest[left - passed]
end
local last, sum, till = unpack(">I7I6I6", newest)
local total = (sum - base + WRAP) % WRAP + cost
if oldest and #oldest >= 19 and last <= now and total <= limit then
before = till * 1000
expiresAt = now + window
expiresAt = expiresAt + -expiresAt % 1000
if expiresAt < before then expiresAt = before end
merges = before >= last + window and last - last % merge == now - now % merge
first, second = total, window
text = pack(">I7I6I6", now, (sum + cost) % WRAP, expiresAt / 1000)
end
end
end
if not text then break end
local failed
do
if merges then
failed = try("LSET", key, "-1", text).err
else
local length = try("RPUSH", key, text)
failed = type(length) == "table" and length.err
end
if not failed and gone > 0 then failed = try("LPOP", key, format("%d", gone)).err end
if not failed then
do
local stretch = expiresAt + -expiresAt % STRETCH
local set
if callersNow then
set = try("PEXPIRE", key, format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK))
elseif stretch ~= before + -before % STRETCH then
set = try("PEXPIREAT", key, format("%d", stretch / 1000))
end
failed = type(set) == "table" and set.err
end
end
end
if failed then break end
if written and values then written[key] = text end
local at = told
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
told, used = at, i
end
asks = used
else
do
local parts = (#ARGV - 3) / 4
local texts, ends, befores, merging, going = {}, {}, {}, {}, {}
local terms = {}
for i = 4, #ARGV do terms[i] = ARGV[i] + 0 end
local number, each = keys / parts, parts
do
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
end
while used < keys do
local at = told
local times = counts and counts[asks + 1] or 1
local looked = 0
while looked < parts do
local place = looked * 4 + 3
local count = costs and times * costs[asks * each + looked + 1] or times
local key, value = KEYS[used + looked + 1], values and values[used + looked + 1]
local from, whole = 1, false
local text, expiresAt, before, merges, gone, first, second, third
local cost, limit, window, merge = terms[place + 1], terms[place + 2], terms[place + 3], terms[place + 4]
cost = cost * count
do
local WRAP = 281474976710656
local head = try("LRANGE", key, "0", "2")
local newest = head[3] and try("LINDEX", key, "-1") or head[2]
if newest and #newest == 19 and #head[1] >= 19 then
local from = now - window + 1
local _, base = unpack(">I7I6", head[1])
local left = 0
local oldest, rest, passed = head[2], nil, 0
gone = 0
while oldest and #oldest >= 19 do
local at, sum, till = unpack(">I7I6I6", oldest)
if at >= from then break end
if till * 1000 <= now then gone = gone + 1 end
left, base = left + 1, sum
if left == 2 then
rest, passed = try("LRANGE", key, "3", "10"), 1
elseif left == 10 then
rest, passed = try("LRANGE", key, "11", "32"), 9
end
oldest = left == 1 and head[3] or rest and rest[left - passed]
end
local last, sum, till = unpack(">I7I6I6", newest)
local total = (sum - base + WRAP) % WRAP + cost
if oldest and #oldest >= 19 and last <= now and total <= limit then
before = till * 1000
expiresAt = now + window
expiresAt = expiresAt + -expiresAt % 1000
if expiresAt < before then expiresAt = before end
merges = before >= last + window and last - last % merge == now - now % merge
first, second = total, window
text = pack(">I7I6I6", now, (sum + cost) % WRAP, expiresAt / 1000)
end
end
end
if not text then break end
looked = looked + 1
texts[looked], ends[looked], befores[looked], merging[looked], going[looked] = text, expiresAt, before, merges, gone
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
end
if looked < parts then break end
local failed
for part = 1, parts do
local key, text, expiresAt, before, merges, gone =
KEYS[used + part], texts[part], ends[part], befores[part], merging[part], going[part]
do
if merges then
failed = try("LSET", key, "-1", text).err
else
local length = try("RPUSH", key, text)
failed = type(length) == "table" and length.err
end
if not failed and gone > 0 then failed = try("LPOP", key, format("%d", gone)).err end
if not failed then
do
local stretch = expiresAt + -expiresAt % STRETCH
local set
if callersNow then
set = try("PEXPIRE", key, format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK))
elseif stretch ~= before + -before % STRETCH then
set = try("PEXPIREAT", key, format("%d", stretch / 1000))
end
failed = type(set) == "table" and set.err
end
end
end
if failed then break end
end
if failed then break end
asks, used, told = asks + 1, used + parts, at
end
end
end
if used == keys then return reply end
for extra = #reply, told + 1, -1 do reply[extra] = nil end
end
local floor, ceil, max, byte, sub = math.floor, math.ceil, math.max, string.byte, string.sub
local plain, writers, sizes = {}, {}, {}
local function write(key, text, expiresAt, before)
local failed, length
do
local stretch = expiresAt + -expiresAt % STRETCH
if callersNow then
failed = try("SET", key, text, "PX", format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK)).err
elseif stretch ~= before + -before % STRETCH then
failed = try("SET", key, text, "PXAT", format("%d", stretch / 1000)).err
elseif length ~= #text or try("SETRANGE", key, "0", text) ~= length then
failed = try("SET", key, text, "KEEPTTL").err
end
end
if failed then error({ err = failed }) end
end
function sizes.log(terms)
return 0
end
function plain.log(terms, key, value, count, reply)
local cost, limit, window, merge = count * terms.cost, terms.limit, terms.window, terms.merge
local from, whole = 1, value and #value == (0)
local text, expiresAt, before, merges, gone, first, second, third
do
local WRAP = 281474976710656
local head = try("LRANGE", key, "0", "2")
local newest = head[3] and try("LINDEX", key, "-1") or head[2]
if newest and #newest == 19 and #head[1] >= 19 then
local from = now - window + 1
local _, base = unpack(">I7I6", head[1])
local left = 0
local oldest, rest, passed = head[2], nil, 0
gone = 0
while oldest and #oldest >= 19 do
local at, sum, till = unpack(">I7I6I6", oldest)
if at >= from then break end
if till * 1000 <= now then gone = gone + 1 end
left, base = left + 1, sum
if left == 2 then
rest, passed = try("LRANGE", key, "3", "10"), 1
elseif left == 10 then
rest, passed = try("LRANGE", key, "11", "32"), 9
end
oldest = left == 1 and head[3] or rest and rest[left - passed]
end
local last, sum, till = unpack(">I7I6I6", newest)
local total = (sum - base + WRAP) % WRAP + cost
if oldest and #oldest >= 19 and last <= now and total <= limit then
before = till * 1000
expiresAt = now + window
expiresAt = expiresAt + -expiresAt % 1000
if expiresAt < before then expiresAt = before end
merges = before >= last + window and last - last % merge == now - now % merge
first, second = total, window
text = pack(">I7I6I6", now, (sum + cost) % WRAP, expiresAt / 1000)
end
end
end
if not text then return nil end
local at = #reply
reply[at + 1], reply[at + 2] = first, second
at = second and at + 2 or at + 1
return text, expiresAt, before, merges, gone
end
function writers.log(key, text, expiresAt, before, merges, gone)
local failed
do
if merges then
failed = try("LSET", key, "-1", text).err
else
local length = try("RPUSH", key, text)
failed = type(length) == "table" and length.err
end
if not failed and gone > 0 then failed = try("LPOP", key, format("%d", gone)).err end
if not failed then
do
local stretch = expiresAt + -expiresAt % STRETCH
local set
if callersNow then
set = try("PEXPIRE", key, format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK))
elseif stretch ~= before + -before % STRETCH then
set = try("PEXPIREAT", key, format("%d", stretch / 1000))
end
failed = type(set) == "table" and set.err
end
end
end
if failed then error({ err = failed }) end
end
local plans = cjson.decode(ARGV[2])
local numbers = ARGV[3] ~= "" and not ARGV[5] and cjson.decode(ARGV[3])
local strings = written or {}
local mayComeTwice = written or ARGV[4] and not ARGV[5]
local records = {}
local function priced(terms, units)
local own = {}
for name, value in pairs(terms) do own[name] = value end
local pieces = units * (terms.cost * (terms.parts or 1) + (terms.costPart or 0))
own.costPart = terms.parts and pieces % terms.parts
own.cost = (pieces - (own.costPart or 0)) / (terms.parts or 1)
return own
end
if counts then
numbers = {}
for ask = asks + 1, #counts do
local number = costs and ask + 1 or counts[ask]
numbers[ask] = number
if not plans[number] then
local plan = { spread(plans[1]) }
local parts = #plan / 2 - 1
plan[2] = counts[ask]
for part = 1, costs and parts or 0 do
plan[part * 2 + 2] = priced(plan[part * 2 + 2], costs[(ask - 1) * parts + part])
end
plans[number] = plan
end
end
end
local function readValues()
end
local function takeBackReply()
for extra = #reply, told + 1, -1 do reply[extra] = nil end
end
local function placesOf(plan)
if plan.places then return plan.places, plan.width end
local places, width = {}, 0
for part = 4, #plan, 2 do
local with = plan[part].with
if not with then width = width + 1 end
places[#places + 1] = with and places[with] or width
end
plan.places, plan.width = places, width
return places, width
end
local function blocksOf(plan)
local blocks = {}
for part = 1, #plan / 2 - 1 do
local terms, size = plan[part * 2 + 2], sizes[plan[part * 2 + 1]]
if terms.label then
size = size(terms)
local block = blocks[terms.with] or { head = "\\0", size = 0, text = "", ends = 0 }
block.head = sub(block.head, 1, -2) .. pack("Bc0B", #terms.label, terms.label, size) .. "\\0"
terms.before, terms.size = block.size, size
block.size, block.last = block.size + size, part
blocks[part] = block
end
end
return blocks
end
local function stateOf(value, block, terms)
if not block or not value then return value end
local from = 8 + #block.head
local size = from + block.size - 1
if #value ~= size and #value <= size + 7 or sub(value, 8, from - 1) ~= block.head then return "" end
from = from + terms.before
return sub(value, from, from + terms.size - 1)
end
local function spendPlain()
if not values then readValues() end
local known = values or {}
local plan, parts, count, first, terms, writeFirst, places, width, blocks
local looked = {}
while used < keys do
local own = plans[numbers and numbers[asks + 1] or 1]
if own ~= plan then
if own[1] ~= "spend" then return end
for part = 3, #own, 2 do
if not plain[own[part]] then return end
end
plan, parts, count = own, #own / 2 - 1, own[2]
first, terms, writeFirst = plain[own[3]], own[4], writers[own[3]]
places, width = placesOf(own)
blocks = blocksOf(own)
end
told = #reply
if parts == 1 and not blocks[1] then
local key, value = KEYS[used + 1], known[used + 1]
if mayComeTwice and strings[key] ~= nil then value = strings[key] end
local a, b, c, d, e = first(terms, key, value, count, reply)
if not a then return end
writeFirst(key, a, b, c, d, e)
if mayComeTwice then strings[key] = a end
else
for part = 1, parts do
local i, n, own = used + places[part], part * 5, plan[part * 2 + 2]
if mayComeTwice and strings[KEYS[i]] ~= nil then known[i] = strings[KEYS[i]] end
local value = stateOf(known[i], blocks[part], own)
local a, b, c, d, e = plain[plan[part * 2 + 1]](own, KEYS[i], value, count, reply)
if not a then return takeBackReply() end
looked[n], looked[n + 1], looked[n + 2], looked[n + 3], looked[n + 4] = a, b, c, d, e
end
for part = 1, parts do
local i, n, block = used + places[part], part * 5, blocks[part]
if not block then
writers[plan[part * 2 + 1]](KEYS[i], looked[n], looked[n + 1], looked[n + 2], looked[n + 3], looked[n + 4])
if mayComeTwice then strings[KEYS[i]] = looked[n] end
else
block.text, block.ends = block.text .. looked[n], max(block.ends, looked[n + 1])
if part == block.last then
local record, ends = known[i], block.ends
local before = record and unpack(">I7", record) or 0
local rest = record and sub(record, 8 + #block.head + block.size) or ""
local till = rest ~= "" and unpack(">I7", rest) or 0
if till + LEFT_OUT <= now then rest = "" end
local text = pack(">I7", ends) .. block.head .. block.text .. rest
block.text, block.ends = "", 0
write(KEYS[i], text, rest ~= "" and max(ends, till) or ends, max(before, till))
if mayComeTwice then strings[KEYS[i]], records[KEYS[i]] = text, nil end
end
end
end
end
asks, used = asks + 1, used + width
end
end
local function answerPlain()
told = #reply
if not pcall(spendPlain) then takeBackReply() end
end
if not ARGV[5] and plans[1][1] == "spend" then
answerPlain()
if used == keys then return reply end
end
local function recordOf(value)
local labels, states, ends = {}, {}, {}
local last, at = 0, 1
while value and at <= #value do
local till, sizes, before = unpack(">I7", value, at), {}, #labels
at = at + 7
while byte(value, at) ~= 0 do
labels[#labels + 1], sizes[#sizes + 1], at = unpack("Bc0B", value, at)
end
at = at + 1
for i = 1, #sizes do
local label = labels[before + i]
states[label], ends[label] = sub(value, at, at + sizes[i] - 1), till
at = at + sizes[i]
end
last = max(last, till)
end
return { labels = labels, states = states, ends = ends, till = last }
end
local function labelsOf(plan)
if plan.labels then return plan.labels end
plan.labels = {}
for part, place in ipairs(placesOf(plan)) do
local label, labels = plan[part * 2 + 2].label, plan.labels[place] or {}
if label then
labels[#labels + 1], labels[label], plan.labels[place] = label, label, labels
end
end
return plan.labels
end
local function blockOf(record, labels)
local head, states, till = "", "", 0
for _, label in ipairs(labels) do
local state = record.states[label]
if state then
head, states = head .. pack("Bc0B", #label, label, #state), states .. state
till = max(till, record.ends[label])
end
end
if head == "" then return "", 0 end
return pack(">I7", till) .. head .. "\\0" .. states, till
end
local function textOf(record, own)
local text, till = blockOf(record, own)
local labels, tills, byTill = own, {}, {}
for _, label in ipairs(record.labels) do
local ends = record.ends[label]
if record.states[label] and not own[label] and ends + LEFT_OUT > reply[1] then
if labels == own then labels = { spread(own) } end
if not byTill[ends] then
tills[#tills + 1], byTill[ends] = ends, {}
end
table.insert(byTill[ends], label)
labels[#labels + 1] = label
end
end
if #tills > 1 then table.sort(tills, function(a, b) return a > b end) end
for _, ends in ipairs(tills) do text = text .. blockOf(record, byTill[ends]) end
record.labels, record.till = labels, max(till, tills[1] or 0)
return text, record.till
end
local min, huge = math.min, math.huge
local GRACE = 1000000
local algorithms = {}
local modes = {}
local lead = 0
local atHand
local function placeOf(part)
local key, terms = KEYS[used + placesOf(atHand)[part]], atHand[part * 2 + 2]
if not terms.label then return key end
terms.place = terms.place or { label = terms.label }
terms.place.record = key
return terms.place
end
local ONLY_NOW = { spend = true, peek = true, charge = true }
local function keysOf(plan)
local _, width = placesOf(plan)
local moments = ONLY_NOW[plan[1]] and 0 or #plan / 2 - 1
return width + moments + (modes[plan[1]] and modes[plan[1]].keys or 0)
end
local get
local function recordAt(key)
records[key] = records[key] or recordOf(get(key))
return records[key]
end
function get(key)
if type(key) == "table" then return recordAt(key.record).states[key.label] end
local value = strings[key] or call("GET", key)
strings[key] = value
return value
end
local function forgottenAt(part)
local _, width = placesOf(atHand)
local key = KEYS[used + width + part]
local value = strings[key]
if value == nil then value = try("GET", key) end
if type(value) ~= "string" or #value ~= 14 then return -1, key, 0 end
local at, till = unpack(">I7I7", value)
if till > 9007199254740991 then return -1, key, 0 end
return till > now and at <= now + GRACE and at or -1, key, till
end
local changed = {}
local function change(place, state, expiresAt)
local record = recordAt(place.record)
record.states[place.label], record.ends[place.label] = state, expiresAt
changed[place.record] = record
end
local function set(key, value, expiresAt, before)
if type(key) == "table" then return change(key, value, expiresAt) end
write(key, value, expiresAt, before)
strings[key] = value
end
local function drop(key)
if type(key) == "table" then return change(key, nil, 0) end
call("DEL", key)
strings[key] = false
end
local function writeChanged()
for place, labels in pairs(labelsOf(atHand)) do
local key = KEYS[used + place]
local record = changed[key]
if record then
local before = record.till
local text, till = textOf(record, labels)
if text ~= "" then set(key, text, till, before) elseif before > 0 then drop(key) end
changed[key] = nil
end
end
end
do
local log = {}
algorithms.log = log
local WRAP = 281474976710656
local PRUNE = 32
local function units(sum, base) return (sum - base + WRAP) % WRAP end
local function expire(key, expiresAt, before)
local failed
do
local stretch = expiresAt + -expiresAt % STRETCH
local set
if callersNow then
set = try("PEXPIRE", key, format("%d", math.max(math.ceil((expiresAt - callersNow) / 1000), 0) + CALLERS_SLACK))
elseif stretch ~= before + -before % STRETCH then
set = try("PEXPIREAT", key, format("%d", stretch / 1000))
end
failed = type(set) == "table" and set.err
end
if failed then error({ err = failed }) end
end
local function packed(at, sum, till, leads)
local value = pack(">I7I6I6", at, sum, till)
return leads and leads > 0 and value .. pack(">I5", leads) or value
end
local BASE = packed(0, 0, 0)
local function entry(index, value)
local at, sum, till = unpack(">I7I6I6", value)
return { index = index, at = at, sum = sum, till = till, leads = #value > 19 and unpack(">I5", value, 20) or 0 }
end
local function entryAt(key, index) return entry(index, call("LINDEX", key, index)) end
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
local head = call("LRANGE", key, "0", "2")
local size = #head
if size == 0 then
return { head = head, first = 1, base = 0, total = 0, last = 0, leads = 0, sum = 0, till = 0, expiresAt = 0 }
end
local newestValue = size < 3 and head[size] or call("LINDEX", key, "-1")
local last, sum, till = unpack(">I7I6I6", newestValue)
local leads = #newestValue > 19 and unpack(">I5", newestValue, 20) or 0
local reach = till * 1000 - last
if last - now > max(reach, GRACE) + leads * 1000 then
local newest = { at = last, sum = sum, till = till }
local before = around(key, head, newest, function(each) return each.till end, floor(last / 1000) + 1)
local total = units(sum, before.sum)
last = now + leads * 1000
till = ceil((last + reach) / 1000)
return {
head = head, first = 1, firstValue = packed(last, total, till, leads), base = 0, total = total, last = last,
leads = leads, sum = total, till = till, jumped = true,
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
local newest = { at = last, sum = sum, till = till, leads = leads }
local before, found = around(key, head, newest, function(each) return each.at end, from)
first, base = before.index + 1, before.sum
firstValue = found and packed(found.at, found.sum, found.till, found.leads)
end
return {
head = head, first = first, firstValue = firstValue, base = base, total = units(sum, base), last = last,
leads = leads, sum = sum, till = till, expiresAt = till * 1000,
}
end
local function prune(key, view)
local most = min(view.first - 1, PRUNE)
if most == 0 then return end
local function matters(value) return unpack(">I6", value, 14) * 1000 > now - lead end
local old = most < #view.head and view.head
if not old and matters(call("LINDEX", key, most)) then old = call("LRANGE", key, 0, most) end
local gone = most
if old then
gone = 0
while gone < most and not matters(old[gone + 2]) do gone = gone + 1 end
end
if gone == 0 then return end
call("LPOP", key, gone)
view.first = view.first - gone
end
local function mend(view, key)
call("DEL", key)
call("RPUSH", key, BASE, packed(view.last, view.sum, view.till, view.leads))
expire(key, view.till * 1000, 0)
view.expiresAt = view.till * 1000
end
local function take(terms, view, granted, key)
local at = max(now, view.last)
local sum = (view.sum + granted * terms.cost) % WRAP
local till = max(ceil((at + terms.window) / 1000), view.till)
local ownWindow = view.till >= ceil((view.last + terms.window) / 1000)
local sameSubWindow = floor(view.last / terms.merge) == floor(at / terms.merge)
local value = packed(at, sum, till, ceil(lead / 1000))
local first = view.firstValue
if #view.head == 0 then
call("RPUSH", key, BASE, value)
elseif view.total > 0 and ownWindow and sameSubWindow then
call("LSET", key, "-1", value)
if unpack(">I6", first, 8) == view.sum then first = nil end
else
call("RPUSH", key, value)
end
view.firstValue = first or value
if #view.head > 0 then prune(key, view) end
expire(key, till * 1000, view.expiresAt)
view.total = view.total + granted * terms.cost
view.last, view.sum, view.till, view.leads = at, sum, till, ceil(lead / 1000)
end
local function room(terms, view, count)
if view.leads > 0 and view.last > now then return 0 end
return min(count, max(floor((terms.limit - view.total) / terms.cost), 0))
end
local function reaching(key, view, amount)
local function spent(each) return units(each.sum, view.base) end
local first = entry(view.first, view.firstValue)
if spent(first) >= amount then return first end
local newest = {
index = call("LLEN", key) - 1, at = view.last, sum = view.sum, till = view.till, leads = view.leads,
}
return search(key, spent, amount, first, newest)
end
local function giveNewest(terms, view, key)
local left = view.total - terms.cost
if left <= 0 then
call("LTRIM", key, 0, view.first - 1)
else
local cut = reaching(key, view, left)
call("LTRIM", key, 0, cut.index)
call("LSET", key, -1, packed(cut.at, (view.base + left) % WRAP, cut.till, cut.leads))
end
local newest = entryAt(key, -1)
if call("LLEN", key) == 1 or newest.till * 1000 <= now then
call("DEL", key)
else
expire(key, newest.till * 1000, view.expiresAt)
end
end
local function giveOldest(terms, view, key)
local older = view.first - 1
local olderMatter = older > 0 and entryAt(key, older).till * 1000 > now
if view.till * 1000 <= now or (not olderMatter and terms.cost >= view.total) then
call("DEL", key)
return
end
if olderMatter then return end
if older > 0 then
call("LTRIM", key, older, -1)
view.first = 1
end
local cut = reaching(key, view, terms.cost)
local sum = (view.base + terms.cost) % WRAP
call("LTRIM", key, cut.sum == sum and cut.index or cut.index - 1, -1)
call("LSET", key, 0, packed(0, sum, 0))
end
local function wait(terms, view, key)
local turns = view.leads > 0 and max(view.last - now, 0) or 0
local excess = view.total + terms.cost - terms.limit
if terms.cost > terms.limit or excess <= 0 then return turns end
return max(reaching(key, view, excess).at + terms.window - now, turns)
end
function log.step(terms, key, count, granted, spend, reply)
local view = read(terms, key)
granted = granted or room(terms, view, count)
if not reply then return granted end
if spend and view.jumped then mend(view, key) end
if spend and granted > 0 then take(terms, view, granted, key) end
reply[#reply + 1] = view.total
reply[#reply + 1] = view.total > 0 and view.last + terms.window - now or 0
if granted < count then reply[#reply + 1] = wait(terms, view, key) end
return granted
end
function log.till(_, key)
local newest = call("LINDEX", key, "-1")
return newest and unpack(">I6", newest, 14) * 1000 or 0
end
function log.give(terms, key, debitedAt)
if debitedAt >= 0 and debitedAt + terms.window <= now then return end
local view = read(terms, key)
if #view.head == 0 then return end
if view.jumped then mend(view, key) end
if debitedAt >= 0 then giveOldest(terms, view, key) else giveNewest(terms, view, key) end
end
end
local function spendOrPeek(plan, parts)
local spend = plan[1] == "spend"
local count = plan[2]
local first = #reply + 1
local granted
if parts == 1 then
granted = algorithms[plan[3]].step(plan[4], placeOf(1), count, nil, spend, reply)
else
granted = count
for part = 1, parts do
granted = algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), granted, nil, false)
end
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), count, granted, spend, reply)
end
end
if granted < count then
reply[first] = -1 - reply[first]
if count > 1 then reply[#reply + 1] = granted end
end
end
local function giveBack(plan, parts)
for part = 1, parts do
algorithms[plan[part * 2 + 1]].step(plan[part * 2 + 2], placeOf(part), 1, nil, false)
end
for part = 1, parts do
if plan[2] < 0 or plan[2] > forgottenAt(part) then
algorithms[plan[part * 2 + 1]].give(plan[part * 2 + 2], placeOf(part), plan[2])
end
end
reply[#reply + 1] = 0
end
local function forget(plan, parts)
local moments = {}
for part = 1, parts do
local place = placeOf(part)
local isRead, till = pcall(algorithms[plan[part * 2 + 1]].till, plan[part * 2 + 2], place)
if isRead and till > now then
local at, key, before = forgottenAt(part)
moments[key] = moments[key] or max(now, at + 1)
till = max(till, before)
set(key, pack(">I7I7", moments[key], till), till, before)
end
if not pcall(drop, place) then drop(place.record or place) end
end
reply[#reply + 1] = 0
end
local function answerTheRest()
while used < keys do
local plan = plans[numbers and numbers[asks + 1] or 1]
local parts = #plan / 2 - 1
told, atHand = #reply, plan
if plan[1] == "give" then
giveBack(plan, parts)
elseif plan[1] == "forget" then
forget(plan, parts)
elseif modes[plan[1]] then
modes[plan[1]].answer(plan, parts, used, reply)
else
spendOrPeek(plan, parts)
end
writeChanged()
asks = asks + 1
used = used + keysOf(plan)
if used < keys then answerPlain() end
end
end
if not values and keys > 1 and plans[1][3] and plans[1][3] ~= "log" then values = call("MGET", spread(KEYS)) end
for i = used + 1, values and keys or 0 do
if strings[KEYS[i]] == nil then strings[KEYS[i]] = values[i] end
end
while used < keys do
local done, wrong = pcall(answerTheRest)
if not done then
now, lead = reply[1], 0
takeBackReply()
records, changed = {}, {}
reply[told + 1] = { type(wrong) == "table" and wrong.err or wrong }
asks = asks + 1
used = used + keysOf(plans[numbers and numbers[asks] or 1])
end
end
return reply`,
  },
} as const
