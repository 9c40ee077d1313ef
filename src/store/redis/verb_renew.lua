-- ttl (0 only looks), token
if not stored then
	return ENOENT
end
refresh(ALL)
local ttl, token = tonumber(ARGV[2]), ARGV[3]
local c = holding(token)
if not c then
	renewals_failed = renewals_failed + 1
	save()
	return ESTALE
end
local expires = now + ttl
if c.hard_end ~= 0 then
	expires = math.min(expires, c.hard_end)
end
if expires > c.expires then
	c.expires = expires
	longest = math.max(longest, ttl)
	put(token, c, expires)
end
save()
return lease_of(token, c)
