
-- token, silence
if not stored then
	return { ESTALE }
end
local token = ARGV[4]
local c = get(token)
-- Asking is a sign of life, so it comes before anything is dropped for silence.
if c and c.state == WAITING and tonumber(call('ZSCORE', TIMES, token)) > now then
	call('ZADD', TIMES, string.format('%.0f', now + tonumber(ARGV[5])), token)
end
refresh(ALL)
c = get(token)
save()
if not c then
	return { ESTALE }
elseif c.state == HOLDING then
	return { 0, lease(token, c) }
end
return place(token)
