
-- silence, tokens of waiters: for each the lease, its place, or that it is gone.
local answers = {}
for i = 5, #ARGV do
	answers[i - 4] = { ESTALE }
end
if not stored then
	return answers
end
-- Asking is a sign of life, so it comes before anything is dropped for silence.
local silent = string.format('%.0f', now + tonumber(ARGV[4]))
for i = 5, #ARGV do
	if call('ZSCORE', QUEUE, ARGV[i]) and tonumber(call('ZSCORE', TIMES, ARGV[i])) > now then
		call('ZADD', TIMES, silent, ARGV[i])
	end
end
refresh(ALL)
for i = 5, #ARGV do
	local c = get(ARGV[i])
	if c then
		answers[i - 4] = c.state == HOLDING and { 0, lease(ARGV[i], c) } or place(ARGV[i])
	end
end
save()
return answers
