-- KEYS bucket; ARGV capacity, tokens per step, seconds per step, now in seconds; returns the tokens left or -1
local bucket_capacity = tonumber(ARGV[1])
local add_token = tonumber(ARGV[2])
local add_interval = tonumber(ARGV[3])
local now = tonumber(ARGV[4])
local LAST_TIME_KEY = KEYS[1].."_time";
local token_cnt = redis.call("get", KEYS[1])
local reset_time = math.ceil(bucket_capacity / add_token) * add_interval;
if token_cnt then
    local last_time = redis.call('get', LAST_TIME_KEY)
    local multiple = math.floor((now - last_time) / add_interval)
    local recovery_cnt = multiple * add_token
    local token_cnt = math.min(bucket_capacity, token_cnt + recovery_cnt) - 1
    if token_cnt < 0 then
        return -1;
    end
    redis.call('set', KEYS[1], token_cnt, 'EX', reset_time)
    redis.call('set', LAST_TIME_KEY, last_time + multiple * add_interval, 'EX', reset_time)
    return token_cnt
else
    token_cnt = bucket_capacity - 1
    redis.call('set', KEYS[1], token_cnt, 'EX', reset_time);
    redis.call('set', LAST_TIME_KEY, now, 'EX', reset_time + 1);
    return token_cnt
end
