-- silence, tokens of waiters: for each the lease, that it waits, or that it is gone.
local answers, queued = {}, {}
for i = 3, #ARGV do
	answers[i - 2] = ESTALE
end
if not stored then
	return answers
end
-- Asking is a sign of life, so it comes before anything is dropped for silence. There is no need to write it down
-- each time: half of the silence is still long.
local silence = tonumber(ARGV[2])
for i = 3, #ARGV do
	if call('ZSCORE', TIMES, 'q' .. ARGV[i]) then
		local silent = tonumber(call('ZSCORE', TIMES, ARGV[i]))
		queued[i] = true
		if silent > now and silent < now + silence / 2 then
			call('ZADD', TIMES, now + silence, ARGV[i])
		end
	end
end
local waited = waiting
refresh(ALL)
local head = waiting > 0 and string.sub(call('ZRANGE', TIMES, 0, 0)[1], 2)
for i = 3, #ARGV do
	local token = ARGV[i]
	if token == head then
		answers[i - 2] = place(token)
	elseif queued[i] and (waiting == waited or call('ZSCORE', TIMES, 'q' .. token)) then
		answers[i - 2] = { 1, token, -1 }
	else
		local c = get(token)
		if c then
			answers[i - 2] = lease_of(token, c)
		end
	end
end
save()
return answers
