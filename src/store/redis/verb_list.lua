
-- Numbers of the head, and the state, packed.
if not stored then
	return { ENOENT }
end
refresh(ALL)
save()
return { 0, now, limit, held, holders, waiting, fence, at_once, after_wait, refused, expired, renewals_failed,
	slowest, math.max(closed - now, 0), call('HGETALL', STATE) }
