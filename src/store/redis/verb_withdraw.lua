
-- token, whether it ran out of time, channel: only who asked last under an id withdraws for all
if not stored then
	return { 1 }
end
refresh(ALL)
local token = ARGV[4]
local c = get(token)
if c and c.state == HOLDING then
	save()
	return { 0, lease(token, c) }
end
if c and c.channel == ARGV[6] then
	drop(token, c)
	refused = refused + tonumber(ARGV[5])
	settle()
end
save()
return { 1 }
