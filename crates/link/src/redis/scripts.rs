//! The operations in Redis, one script each: Redis runs a script atomically.

/// Binds the place. Keys: place, bound. Arguments: by, term in ms, seconds for which the place is kept.
///
/// An epoch begins with the server's time, so that a server that has lost its data does not repeat one.
pub(super) const BIND: &str = "
local epitaph = redis.call('HGET', KEYS[1], 'epitaph')
if epitaph then return {'over', epitaph} end
local by = redis.call('GET', KEYS[2])
if by then return {'led', by} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local last = tonumber(redis.call('HGET', KEYS[1], 'epoch') or '0')
local epoch = string.format('%.0f', math.max(now, last + 1))
redis.call('HSET', KEYS[1], 'epoch', epoch, 'by', ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return {'bound', epoch}";

/// Renews a binding. Keys: place, bound. Arguments: epoch, term in ms, seconds for which the place is kept.
pub(super) const KEEP: &str = "
local known = redis.call('HMGET', KEYS[1], 'epoch', 'by')
if not known[1] or tonumber(known[1]) < tonumber(ARGV[1]) then return {'gone', ''} end
if known[1] ~= ARGV[1] or not known[2] then return {'deposed', known[1]} end
redis.call('SET', KEYS[2], known[2], 'PX', ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return {'kept', known[1]}";

/// Gives up a binding. Keys: place, bound. Arguments: epoch, seconds for which the place is kept, and the final status, if
/// there is one.
pub(super) const UNBIND: &str = "
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return {'passed', ''} end
redis.call('HDEL', KEYS[1], 'by')
redis.call('DEL', KEYS[2])
if ARGV[3] then redis.call('HSET', KEYS[1], 'epitaph', ARGV[3]) end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return {'unbound', ''}";

/// Reads the state of the place. Keys: place, bound.
pub(super) const LOOK: &str = "
local known = redis.call('HMGET', KEYS[1], 'epoch', 'epitaph')
return {known[1] or '0', redis.call('GET', KEYS[2]), known[2]}";

/// Sends a message. Keys: box, held. Arguments: the message, maximum number of messages, maximum bytes, ms for which both keys are kept.
///
/// The size of a mailbox is counted when messages are sent and taken; an empty mailbox has size 0, whatever the count.
pub(super) const SEND: &str = "
local waiting = redis.call('LLEN', KEYS[1])
if waiting >= tonumber(ARGV[2]) then return {'full', ''} end
local held = #ARGV[1]
if waiting > 0 then held = held + tonumber(redis.call('GET', KEYS[2]) or '0') end
if held > tonumber(ARGV[3]) then return {'full', ''} end
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('SET', KEYS[2], held, 'PX', ARGV[4])
return {'sent', ''}";
