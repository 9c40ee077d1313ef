
-- Numbers of the head, how long they waited, and each claim: token, packed, position in the queue or -1.
if not stored then
	return { ENOENT }
end
refresh(ALL)
save()
local claims = {}
local all = call('HGETALL', CLAIMS)
for i = 1, #all, 2 do
	if string.sub(all[i], 1, 1) == 't' then
		local token = string.sub(all[i], 2)
		claims[#claims + 1] = { token, all[i + 1], call('ZRANK', QUEUE, token) or -1 }
	end
end
return { 0, now, limit, held, holders, waiting, fence, at_once, after_wait, refused, expired, renewals_failed,
	call('HGETALL', WAITS), claims }
